"""Columns that name the place of their sensor: `T_10cm` and `T_20cm` are one field at two places."""

import re

from napinn.problem.file.roles import Roles, plain_name

PLACED = re.compile(
    r"(\D*?[^\W\d_])(?:[ _-]+at\b|[ _]*@)?[ _-]*(?:\b[xzr]\s*=)?[ _-]*(\d+(?:[.,]\d+)?)[ _]?(mm|cm|m|km|in|ft)"
)
"""A column named by what it measures and where: `T_10cm`, `temp 0.5 m`, `T at x=0.5 m`."""


def one_field_at_places(roles: Roles) -> dict[str, dict[str, float]]:
    """Columns with their places, if the table has one quantity at several; the roles then hold it and the place x.

    Other columns of numbers, such as the voltage of a battery, are then not used.

    :param roles: What the columns were taken for."""
    matches = {column: PLACED.fullmatch(plain_name(column)[0]) for column in roles.fields.values()}
    found = {column: match for column, match in matches.items() if match}
    kinds = {(match[1], match[3]) for match in found.values()}
    (kind,) = kinds if len(kinds) == 1 else (None,)
    if kind is None or len(found) < 2 or list(roles.coordinates) != [roles.time] or roles.sensor or roles.labels:
        return {}
    roles.ignored += [column for column in matches if column not in found]
    units = {name: roles.units.pop(name, None) for name in roles.fields}
    measured = next((units[name] for name, column in roles.fields.items() if column in found and units[name]), None)
    field = re.sub(r"\W|_", "", kind[0])
    roles.fields, roles.coordinates["x"] = {field: field}, "x"
    roles.units |= {"x": kind[1]} | ({field: measured} if measured else {})
    return {column: {"x": float(match[2].replace(",", "."))} for column, match in found.items()}
