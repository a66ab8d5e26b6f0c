"""Pins: what a release and users' CI install is named by version and hash, and is what pyproject.toml asks for."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
FILES = {
    "adreno_sim/pins/tvm.txt": ("tvm",),
    "adreno_sim/pins/tvm26.txt": ("tvm26",),
    "adreno_sim/pins/tvm25.txt": ("tvm25",),
    "ci/pins/release.txt": ("release",),
    "ci/pins/trial.txt": ("tvm", "opencl", "oracle", "test"),
}
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
MACHINES = ("x86_64", "aarch64")
_PIN = re.compile(r"(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^ ;\\]+)(?: *; (?P<marker>[^\\]*?))? *\\")
_HASH = re.compile(r" {4}--hash=sha256:[0-9a-f]{64}(?: \\)?")


def read_pins(text: str) -> list[tuple[str, str, Marker | None]]:
    """Name, version and marker of each pin. ValueError if a line is none, or a pin has no hash."""
    pins, hashed = [], True
    for line in text.splitlines():
        if not line or line.lstrip().startswith("#"):
            continue
        if _HASH.fullmatch(line):
            hashed = True
        elif (found := _PIN.fullmatch(line)) and hashed:
            marker = Marker(found["marker"]) if found["marker"] else None
            pins.append((canonicalize_name(found["name"]), found["version"], marker))
            hashed = False
        else:
            raise ValueError(f"neither a pin nor its hash: {line}")
    if not hashed:
        raise ValueError(f"no hash: {pins[-1][0]}")
    return pins


def request_of(extras: tuple[str, ...]) -> Iterator[Requirement]:
    """The project's requirements and those of its extras, which may name other extras."""
    for text in [*PROJECT["dependencies"], *(line for extra in extras for line in PROJECT["optional-dependencies"][extra])]:
        requirement = Requirement(text)
        if requirement.name == PROJECT["name"]:
            yield from request_of(tuple(requirement.extras))
        else:
            yield requirement


def mismatches(text: str, extras: tuple[str, ...]) -> list[str]:
    """What pyproject.toml asks for and the pins do not give, and the pins of what it does not ask for any more."""
    pins, wrong = read_pins(text), []
    for python in PYTHONS:
        for machine in MACHINES:
            world = {
                "python_version": python, "python_full_version": f"{python}.1", "platform_machine": machine,
                "sys_platform": "linux", "platform_system": "Linux", "os_name": "posix",
                "implementation_name": "cpython", "extra": "",
            }  # fmt: skip
            given: dict[str, list[str]] = {}
            for name, version, marker in pins:
                if marker is None or marker.evaluate(world):
                    given.setdefault(name, []).append(version)
            wrong += [f"{python} {machine}: {name} twice" for name, versions in given.items() if len(versions) > 1]
            for asked in request_of(extras):
                if asked.marker is None or asked.marker.evaluate(world):
                    versions = given.get(canonicalize_name(asked.name), [])
                    if not versions or not asked.specifier.contains(versions[0], prereleases=True):
                        wrong.append(f"{python} {machine}: {asked} is pinned as {versions}")
    names = {canonicalize_name(asked.name) for asked in request_of(extras)}
    return wrong + [f"{name} is not asked for" for name in direct_pins(text) if name not in names]


def direct_pins(text: str) -> set[str]:
    """The pins that their comment says pyproject.toml itself asks for."""
    direct, name = set(), ""
    for line in text.splitlines():
        if found := _PIN.fullmatch(line):
            name = canonicalize_name(found["name"])
        elif line.startswith("    # via") and re.search(r"\badreno-sim\b", line):
            direct.add(name)
    return direct


@pytest.mark.parametrize("file", FILES)
def test_pins_are_what_the_project_asks_for(file: str) -> None:
    assert mismatches((ROOT / file).read_text(encoding="utf-8"), FILES[file]) == [], "bash ci/pins.sh"


def test_no_file_of_pins_is_forgotten() -> None:
    found = {str(path.relative_to(ROOT)) for folder in ("adreno_sim/pins", "ci/pins") for path in (ROOT / folder).iterdir()}
    script = (ROOT / "ci" / "pins.sh").read_text(encoding="utf-8")
    assert found == set(FILES)
    assert set(re.findall(r"^pin (.*)$", script, re.MULTILINE)) == {" ".join((file, *extras)) for file, extras in FILES.items()}


def test_what_is_wrong_is_seen() -> None:
    text = (ROOT / "adreno_sim/pins/tvm.txt").read_text(encoding="utf-8")
    assert any("ziglang" in said for said in mismatches(text.replace("ziglang==0.17.0", "ziglang==0.16.0"), ("tvm",)))
    assert any("rich" in said for said in mismatches(re.sub(r"(?ms)^rich==.*?(?=^\S)", "", text), ("tvm",)))
    assert direct_pins(text) >= {"numba", "apache-tvm"}
    assert "packaging" not in direct_pins(text)
    assert "build is not asked for" in mismatches((ROOT / "ci/pins/release.txt").read_text(encoding="utf-8"), ("tvm",))
    assert any("twine" in said for said in mismatches(text, ("tvm", "release")))
    with pytest.raises(ValueError, match=r"no hash|neither"):
        read_pins(re.sub(r"(?ms)(^rich==.*?$).*?(?=^    #|^\S)", r"\1\n", text))
    with pytest.raises(ValueError, match="neither"):
        read_pins(text + "rich>=1\n")
