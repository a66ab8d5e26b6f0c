"""Prints the arguments of pip for ci/arm.sh, a line for each call: requirements of pyproject.toml for Debian's Python on Arm.

The compiler is that of this machine.
"""

from __future__ import annotations

import re
from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

PLATFORMS = ("manylinux_2_28_aarch64", "manylinux_2_27_aarch64", "manylinux_2_17_aarch64", "manylinux2014_aarch64")
EXTRAS = {"test": ("pytest", "hypothesis", "mpmath", "jsonschema"), "opencl": ("pyopencl",)}


def main() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = ((one, names) for extra, names in EXTRAS.items() for one in project["optional-dependencies"][extra])
    wanted = [*project["dependencies"], *(one for one, names in extras if name_of(one) in names)]
    plain = [one.partition(";")[0].strip() for one in wanted if "< '3.1" not in one]
    options = [word for platform in PLATFORMS for word in ("--platform", platform)]
    compiler = [one for one in plain if name_of(one) == "ziglang"]
    print("--no-deps", *compiler)
    print("--only-binary=:all: --python-version 3.11", *options, *(one for one in plain if one not in compiler))


def name_of(requirement: str) -> str:
    return re.split(r"[^\w-]", requirement)[0]


if __name__ == "__main__":
    main()
