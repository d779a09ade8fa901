"""Whether the files that a command names are there; nothing that reads them is loaded."""

from pathlib import Path

from napinn.errors import InputError


def check_exist(*paths: Path) -> None:
    """Refuse the first path that leads nowhere.

    :param paths: As the user wrote them."""
    for path in paths:
        try:
            there = path.exists()
        except (OSError, ValueError) as error:
            raise InputError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}.") from None
        if not there:
            raise InputError(f"{path} does not exist; check the path.")
