"""Temperatures whose zero is not absolute: which sums and products of them have no meaning."""

from collections.abc import Mapping

from napinn.errors import InputError
from napinn.problem.equations import tree as trees
from napinn.problem.units.system import Unit, UnitSystem
from napinn.problem.units.terms import flat_factors, flat_terms, leaf_name


def check_zeros(node: trees.Sum, system: UnitSystem, units: Mapping[str, str], where: str) -> None:
    """Refuse a temperature in °C beside one in K or °F, unless they are differences: their zeros are others."""
    counts: dict[str, int] = {}
    plain: list[tuple[str, Unit]] = []
    for sign, child in flat_terms(node, 1):
        name = leaf_name(child)
        if name is None or name not in units:
            continue
        unit = _unit(system, units, name)
        if list(unit.values()) == [1]:
            plain.append((name, unit))
            if system.is_offset(unit):
                key = next(iter(unit))
                counts[key] = counts.get(key, 0) + sign
    for key, count in counts.items():
        other = next((name for name, unit in plain if key not in unit), None)
        if other is not None and (count or len(counts) > 1):
            one = next(name for name, unit in plain if key in unit)
            raise InputError(
                f"{where}: {one} is in {units[one]} and {other} in {units[other]}, whose zeros differ; give both in "
                "one unit."
            )


def check_absolute(node: trees.Product, system: UnitSystem, units: Mapping[str, str], where: str) -> None:
    """Refuse a temperature in °C times something per kelvin, such as the gas constant."""
    names = [name for child in flat_factors(node) if (name := leaf_name(child)) is not None and name in units]
    cold = next((name for name in names if system.is_offset(_unit(system, units, name))), None)
    for name in names:
        if cold is not None and "kelvin" in _unit(system, units, name):
            raise InputError(
                f"{where}: {cold} is in {units[cold]} and is multiplied by {name} in {units[name]}, which counts from "
                f"absolute zero; give {cold} in K and keep its column under 'columns: {{units: {{{cold}: "
                f"{units[cold]}}}}}', or write °C for K in the unit of {name}."
            )


def _unit(system: UnitSystem, units: Mapping[str, str], name: str) -> Unit:
    return system.read(units[name], f"units: {name}")
