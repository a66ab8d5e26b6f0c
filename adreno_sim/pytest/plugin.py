"""The pytest plugin: options, the `adreno` marker, fixtures, and the summary at the end of a run.

Loads only pytest until a fixture is used. See `adreno_sim.pytest` for the parts.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pluggy
import pytest

from ..base import pytest_settings as run_settings
from ..base.pytest_settings import PytestSettings
from ..base.trust.device_string import default_device
from .versions import why_too_old

if TYPE_CHECKING:
    from ..device.protocol import Device
    from .checking import AdrenoCheck
    from .kernels import AdrenoKernel
    from .plans import AdrenoPlan

MARKER = "adreno(profile=None, requires=()): run only on devices of these profiles (patterns), and that have what is required"

CHECKS = ("off", "bounds", "full")
PIPELINES = ("fixed", "stock")
OWN_DEVICE = "own device"
"""Name of a device that a test brought itself, by parametrising or overriding the fixture."""

if too_old := why_too_old(pytest.__version__, pluggy.__version__):
    raise pytest.UsageError(too_old)

_SETTINGS: pytest.StashKey[PytestSettings] = pytest.StashKey()
_OPENED: pytest.StashKey[dict[str, Device]] = pytest.StashKey()
_TOLD: pytest.StashKey[set[str]] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("adreno", "simulated and real Adreno GPUs")
    devices = "device that tests run on: sim:PROFILE[,key=value...] or cl[:PLATFORM[:DEVICE]]; again for more"
    group.addoption("--adreno-device", action="append", default=None, metavar="DEVICE", help=devices)
    checks = "how closely a simulated device watches memory accesses"
    group.addoption("--adreno-checks", choices=CHECKS, default=None, help=checks)
    pipeline = "TVM's passes with known defects fixed (fixed), or alone (stock)"
    group.addoption("--adreno-pipeline", choices=PIPELINES, default=None, help=pipeline)
    group.addoption("--adreno-update", action="store_true", default=False, help="record snapshots instead of comparing")
    output = "folder for what helps to understand failures (default: in pytest's cache)"
    group.addoption("--adreno-output", default=None, metavar="FOLDER", help=output)
    strict = "warnings fail verify_results and adreno_check, as comparisons that say nothing"
    group.addoption("--adreno-strict", action="store_true", default=False, help=strict)
    parser.addini("adreno_strict", strict, type="bool", default=False)
    parser.addini("adreno_device", f"{devices} (one a line)", type="linelist", default=[])
    parser.addini("adreno_checks", checks, default="")
    parser.addini("adreno_pipeline", pipeline, default="")
    parser.addini("adreno_update", "record snapshots instead of comparing", type="bool", default=False)
    parser.addini("adreno_output", output, default="")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)
    settings = _settings(config)
    if settings.update and (getattr(config.option, "numprocesses", None) or hasattr(config, "workerinput")):
        raise pytest.UsageError("--adreno-update: run without -n, since workers would write one file at once")
    config.stash[_SETTINGS] = settings
    config.stash[_TOLD] = set()
    config.stash[_OPENED] = {}
    config.pluginmanager.register(_Reporter(), "adreno-reporter")
    run_settings.begin(settings)


def pytest_unconfigure(config: pytest.Config) -> None:
    if config.stash.get(_SETTINGS, None) is not None:
        run_settings.end()


def _settings(config: pytest.Config) -> PytestSettings:
    option, ini = config.option, config.getini
    devices = tuple(option.adreno_device or ini("adreno_device")) or (default_device(),)
    checks = _one_of("adreno_checks", option.adreno_checks or ini("adreno_checks"), CHECKS)
    pipeline = _one_of("adreno_pipeline", option.adreno_pipeline or ini("adreno_pipeline"), PIPELINES)
    folder = option.adreno_output or ini("adreno_output")
    output = config.rootpath / folder if folder else _cache_folder(config)
    update = option.adreno_update or bool(ini("adreno_update"))
    strict = option.adreno_strict or bool(ini("adreno_strict"))
    return PytestSettings(tuple(dict.fromkeys(devices)), checks or None, pipeline or "fixed", update, output, strict)


def _one_of(name: str, value: str, choices: tuple[str, ...]) -> str:
    if value and value not in choices:
        raise pytest.UsageError(f"ini option {name} = {value}: expected one of {', '.join(choices)}")
    return value


def _cache_folder(config: pytest.Config) -> Path | None:
    """A folder of pytest's cache; None if the cache is switched off."""
    place = config.getini("cache_dir") if config.pluginmanager.has_plugin("cacheprovider") else ""
    return config.rootpath / place / "d" / "adreno-failures" if place else None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "adreno_device" in metafunc.fixturenames and not _own_parameters(metafunc):
        devices = metafunc.config.stash[_SETTINGS].devices
        metafunc.parametrize("adreno_device", devices, ids=list(devices), indirect=True, scope="session")


def _own_parameters(metafunc: pytest.Metafunc) -> bool:
    """The test parametrises the device itself, or overrides the fixture."""
    marked = (str(mark.args[0]) for mark in metafunc.definition.iter_markers("parametrize") if mark.args)
    fixtures = metafunc.definition._fixtureinfo.name2fixturedefs.get("adreno_device", ())
    overridden = any(fixture.func.__module__ != __name__ for fixture in fixtures)
    return overridden or any("adreno_device" in names.replace(",", " ").split() for names in marked)


def _open(config: pytest.Config, text: str) -> Device:
    """The device `text`, opened once a run. Fails the test where it cannot be opened."""
    from ..backends.open import announce_devices, open_device
    from ..base import pytest_outcomes
    from ..base.errors import AdrenoSimError

    opened = config.stash[_OPENED]
    if text not in opened:
        announce_devices(config.stash[_SETTINGS].devices)
        checks = config.stash[_SETTINGS].checks
        try:
            opened[text] = open_device(text, **({"checks": checks} if checks else {}))
        except AdrenoSimError as error:
            pytest_outcomes.fail(f"device {text}: {error}")
    return opened[text]


@pytest.fixture(scope="session")
def adreno_device(request: pytest.FixtureRequest) -> Device:
    """The open device; a test that uses it, or one of the fixtures below, runs once for each --adreno-device."""
    return _open(request.config, request.param)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    """Note the device in the test's properties; skip where the marker asks for more than it has."""
    if not isinstance(item, pytest.Function) or "adreno_device" not in item.fixturenames:
        return (yield)
    text = _device_text(item)
    if text != OWN_DEVICE and (reason := _prepare(item, _open(item.config, text), text)):
        item.add_marker(pytest.mark.skip(reason=reason))  # pytest then names the place of the test, not this one
    result = yield
    if text == OWN_DEVICE and (reason := _prepare(item, cast("Device", item.funcargs["adreno_device"]), text)):
        pytest.skip(reason)
    return result


def _prepare(item: pytest.Item, device: Device, text: str) -> str:
    """Write down the device; why the test cannot run on it, or ""."""
    from ..base import pytest_outcomes
    from ..base.errors import AdrenoSimError
    from .requirements import missing

    item.user_properties.append(("adreno.device", text))
    told = item.config.stash[_TOLD]
    if text not in told:
        told.add(text)
        item.user_properties += [("adreno.lacks", sentence) for sentence in device.info.lacks]
    for mark in item.iter_markers("adreno"):
        try:
            if reason := missing(device, text, *mark.args, **mark.kwargs):
                return reason
        except AdrenoSimError as error:
            pytest_outcomes.fail(str(error))
        except TypeError:
            pytest_outcomes.fail(f"marker adreno{mark.args}{mark.kwargs}: expected {MARKER}")
    return ""


def _device_text(item: Any) -> str:
    callspec = getattr(item, "callspec", None)
    given = callspec.params.get("adreno_device") if callspec else None
    return given if isinstance(given, str) else OWN_DEVICE


@pytest.fixture
def adreno_check(adreno_device: Device, request: pytest.FixtureRequest) -> AdrenoCheck:
    """adreno_check(model, inputs=None, **options): check a model, assert that it is ok, return the Report."""
    from .checking import AdrenoCheck

    return AdrenoCheck(adreno_device, _device_text(request.node), request.config.stash[_SETTINGS], request.node)


@pytest.fixture
def adreno_plan(adreno_device: Device, request: pytest.FixtureRequest) -> AdrenoPlan:
    """adreno_plan(model, target=None, **options): figures of a model's memory plan, as `.bytes("tvm")`."""
    from .plans import AdrenoPlan

    return AdrenoPlan(adreno_device, _device_text(request.node), request.config.stash[_SETTINGS], request.node)


@pytest.fixture
def adreno_kernel(adreno_device: Device, request: pytest.FixtureRequest) -> AdrenoKernel:
    """adreno_kernel(source, args, global_size, local_size): run one OpenCL kernel, return the arrays afterwards."""
    from .kernels import AdrenoKernel

    return AdrenoKernel(adreno_device, _device_text(request.node), request.config.stash[_SETTINGS], request.node)


class _Reporter:
    """Collects the figures of tests, and prints their summary at the end."""

    def __init__(self) -> None:
        self._reports: list[pytest.TestReport] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if any(name == "adreno.device" for name, _ in report.user_properties):
            self._reports.append(report)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if not self._reports:
            return
        from ..base.text.spelling import spell_printed
        from .results import Summary

        summary = Summary()
        for report in self._reports:
            summary.add(report)
        terminalreporter.section("adreno")
        for line in summary.lines():
            terminalreporter.write_line(spell_printed(line))
