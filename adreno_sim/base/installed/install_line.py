"""The line that adds an extra of this project to this environment: from where the project itself was installed.

That is a clone, as a rule. The project's name on a package index may belong to others, so that it is named only where the project
came from one.
"""

from __future__ import annotations

import functools
import json
import shlex
from pathlib import Path
from urllib.parse import unquote, urlsplit

NAME = "adreno-sim"


def install_line(*extras: str) -> str:
    """Returns `pip install ...` for these extras; without one, for the project with what it always needs."""
    return _line(",".join(extras), *_find_origin())


def _line(names: str, url: str, commit: str, editable: bool, version: str) -> str:
    extras = f"[{names}]" if names else ""
    path = Path(unquote(urlsplit(url).path)) if url.startswith("file:") else None
    if path is not None and path.exists():
        shown = "." if path == Path.cwd() else path
        return f"pip install {'-e ' if editable else ''}{shlex.quote(f'{shown}{extras}')}"
    if path is not None or not version:
        return f"pip install -e {shlex.quote(f'.{extras}')} in a clone of {NAME}"
    source = f" @ {commit}" if commit else f"=={version}"
    return f"pip install {shlex.quote(f'{NAME}{extras}{source}')}"


@functools.cache
def _find_origin() -> tuple[str, str, bool, str]:
    """Returns the address of the folder or file it was installed from, the one of a commit, whether its files stayed where they
    are, and its version; "" for what there is not."""
    clone = Path(__file__).resolve().parents[3]
    if (clone / "pyproject.toml").is_file():  # its files are used where they lie
        return clone.as_uri(), "", True, ""
    from importlib import metadata  # Python's e-mail parser, which only this error needs

    try:
        found = metadata.distribution(NAME)
    except metadata.PackageNotFoundError:
        return "", "", False, ""
    try:  # PEP 610; a package from an index has no such file
        origin = json.loads(found.read_text("direct_url.json") or "{}")
        url, control = str(origin.get("url", "")), origin.get("vcs_info") or {}
        commit = f"{control['vcs']}+{url}@{control['commit_id']}" if control else ""
    except (ValueError, KeyError, AttributeError):
        return "", "", False, found.version
    return ("" if commit else url), commit, False, found.version
