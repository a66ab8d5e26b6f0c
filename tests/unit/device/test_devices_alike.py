"""Nothing above the backends asks which one it has: what differs between devices stands in their DeviceInfo."""

from __future__ import annotations

import ast

import pytest

from adreno_sim import open_device
from adreno_sim.base.code_digest import PACKAGE
from adreno_sim.cli.devices import load_profile

ABOVE = ("launch_spec", "results", "compiler", "golden", "schemas", "sweep", "render", "cli", "pytest")
"""The packages above the backends; pyproject.toml has their order."""

CLASSES = {"SimDevice", "OpenCLDevice"}
LOOKS = {"getattr", "hasattr", "isinstance"}


def questions(source: str) -> list[str]:
    """What a file asks of a device besides the protocol: its class, or an attribute that only some have."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found += [f"imports {name.name}" for name in node.names if name.name in CLASSES]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in LOOKS:
            asked, *rest = map(ast.unparse, node.args)
            if asked.rpartition(".")[2].strip("_") == "device" and rest[0] not in ("str", "DeviceRules"):
                found.append(ast.unparse(node))
        elif (
            isinstance(node, ast.Attribute)
            and node.attr == "backend"
            and not ast.unparse(node).startswith(("tvm.", "import_tvm()."))
        ):
            found.append(ast.unparse(node))
    return found


@pytest.mark.parametrize("package", ABOVE)
def test_no_package_above_the_backends_asks(package):
    found = {path.relative_to(PACKAGE).as_posix(): questions(path.read_text()) for path in (PACKAGE / package).rglob("*.py")}
    assert found
    required = found.pop("pytest/requirements.py", None)  # where a test itself says on which backend it runs
    assert required is None or set(required) == {"info.backend"}
    assert {path: asked for path, asked in found.items() if asked} == {}


@pytest.mark.parametrize(
    ("source", "number"),
    [
        ("profile = getattr(device, 'profile', None)", 1),
        ("profile = getattr(self._device, 'profile', None)", 1),
        ("hasattr(launch.call.device, 'profile')", 1),
        ("from ..backends.sim.device import SimDevice\nisinstance(device, SimDevice)", 2),
        ("if device.info.backend == 'sim': pass", 1),
        ("isinstance(device, str); getattr(args, 'device'); device.info.profile", 0),
    ],
)
def test_questions_are_found(source, number):
    assert len(questions(source)) == number


def test_a_simulated_device_says_whose_rules_it_follows():
    info = open_device("sim:adreno-630,pitch_rule=pixels").info
    assert info.profile is not None
    assert info.names_params
    assert (info.profile.name, info.profile["pitch_rule"]) == ("adreno-630", "pixels") == (info.name, info.pitch_rule)
    assert load_profile("sim:adreno-630,pitch_rule=pixels")["pitch_rule"] == "pixels"


def test_a_real_device_follows_no_profile(monkeypatch):
    from types import SimpleNamespace

    pytest.importorskip("pyopencl")
    from adreno_sim.backends.opencl import info

    monkeypatch.setattr(info, "_query", lambda driver, name: None)
    platform = SimpleNamespace(name="Stub")
    found = info.device_info(SimpleNamespace(name="Stub", version="", platform=platform, extensions="", image_support=False))
    assert found.profile is None
    assert not found.names_params
