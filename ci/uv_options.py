"""Print pip's settings as options of uv, a line each, or end with 1 where a setting has no counterpart that is known here.

uv installs in a fifth of pip's time, but reads none of pip's settings: without this it would ask pypi.org where a company set its
own index.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

OPTIONS = {
    "index-url": "--default-index",
    "extra-index-url": "--index",
    "find-links": "--find-links",
    "constraint": "--constraints",
}
"""Settings that name one or several places, and uv's option for each."""

WITHOUT_EFFECT = frozenset(
    {"cert", "default-timeout", "timeout", "retries", "disable-pip-version-check", "progress-bar", "compile", "no-compile"}
)
"""Settings that change nothing that is installed. uv takes certificates from SSL_CERT_FILE; where it lacks them, pip is used."""


def translate(listed: str) -> list[str] | None:
    """What `pip config list` printed as uv's options; None where one of its settings is not known here."""
    options = ["--index-strategy=unsafe-best-match"]  # as pip does: the best version of all indexes
    for line in listed.splitlines():
        name, _, value = line.partition("=")
        key = name.rpartition(".")[2]
        if key in OPTIONS:
            options += [f"{OPTIONS[key]}={place}" for place in ast.literal_eval(value).split() if is_there(place)]
        elif key not in WITHOUT_EFFECT:
            return None
    return list(dict.fromkeys(options))


def is_there(place: str) -> bool:
    """Whether a place is an address, or a path that exists: pip passes over folders that do not exist, and uv ends there."""
    address = urlsplit(place)
    if address.scheme in ("http", "https"):
        return True
    return Path(unquote(address.path) if address.scheme == "file" else place).exists()


def main() -> int:
    listed = subprocess.run([sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True).stdout
    options = translate(listed)
    if options is None:
        return 1
    print("\n".join(options))
    return 0


if __name__ == "__main__":
    sys.exit(main())
