"""The version of an installed package, from the name of the folder that an installer left beside it.

`importlib.metadata` says the same, but imports Python's e-mail parser for it: a tenth of what starting a command costs.
"""

from __future__ import annotations

from pathlib import Path


def find_version(folder: str, name: str) -> str:
    """Returns the version of the distribution `name`, whose package of that name is `folder`.

    Raises PackageNotFoundError if it is not installed.
    """
    found = list(Path(folder).parent.glob(f"{name}-*.dist-info"))
    if len(found) == 1:
        return found[0].name.removeprefix(f"{name}-").removesuffix(".dist-info")
    from importlib import metadata

    return metadata.version(name)
