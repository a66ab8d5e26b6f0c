"""Helpers in the shape of TVM's own tests for Adreno, so that such a test file runs here by changing one import.

    from adreno_sim.compiler.testing import skip_unless_adreno_opencl_vulkan, verify_results

Importing this module makes `tvm.testing` count OpenCL on Adreno as enabled, for the marks of these files.

Devices, pipeline and checks are those of pytest's --adreno-device, --adreno-pipeline and --adreno-checks; without the
plugin, of ADRENO_SIM_DEVICE, ADRENO_SIM_PIPELINE and ADRENO_SIM_CHECKS.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ..backends.open import announce_devices, open_device
from ..base.errors import AdrenoSimError, UncompiledError, UnsupportedError
from ..base.pytest_settings import current
from ..device.protocol import Device
from ..findings import Kind
from .clml import codegen
from .clml.partition import SERIES
from .importers.load import load_model
from .lower.targets import TargetLike, target_kind
from .tvm_bridge import test_gates
from .tvm_bridge.versions import tvm_series

if TYPE_CHECKING:
    from tvm import IRModule

Test = TypeVar("Test", bound=Callable[..., Any])


def _always(test: Test) -> Test:
    """A device is always there: nothing to skip for."""
    return test


requires_adreno_opencl_vulkan = requires_adreno_opencl = skip_unless_adreno_opencl_vulkan = _always


def skip_unless_adreno_clml(test: Test) -> Test:
    """Skips where there is no code generator of OpenCL ML, TVM's own or the one of this project, which is for TVM 0.27."""
    import pytest

    reason = f"TVM was built without OpenCL ML, whose code generator this test needs; that of adreno-sim is for TVM {SERIES}"
    marked: Test = pytest.mark.skipif(not codegen.is_registered(), reason=reason)(test)
    return marked


requires_adreno_clml = skip_unless_adreno_clml


def parametrize_targets(*targets: Any) -> Callable[[Test], Test]:
    """As `tvm.testing.parametrize_targets`, without asking whether TVM's own runtime has a device for the targets."""
    import pytest

    return pytest.mark.parametrize("target", list(targets), ids=[_target_name(target) for target in targets])


with contextlib.suppress(AdrenoSimError):  # without TVM there is nothing to test, as the first call says
    test_gates.open_gates(parametrize_targets)
    if tvm_series() == SERIES:  # TVM's tests of OpenCL ML call the code generator by itself
        codegen.register()


def verify_results(mod: IRModule, target: TargetLike, ref_target: TargetLike = "llvm") -> None:
    """Check `mod` on every device of the test run, inputs uniform in [0, 1) from a fixed seed.

    Every kernel and the whole module are judged as by `check`. A `ref_target` other than llvm is
    checked like `target`. Raises AssertionError with the findings, and with the reason where the pipeline under test does not
    compile the module; pytest skips what a device cannot do. A comparison that says nothing is a warning of Python's, and
    fails with --adreno-strict.
    """
    __tracebackhide__ = True
    targets = [target] if _target_name(ref_target).startswith("llvm") else [target, ref_target]
    inputs = _inputs(mod)
    for one in targets:
        for device, name in _devices():
            _verify(mod, inputs, one, device, name)


def _verify(mod: IRModule, inputs: Sequence[np.ndarray], target: Any, device: Device, name: str) -> None:
    from ..results.plain_text import failure_text
    from .check.check import check

    __tracebackhide__ = True
    try:
        settings = current()
        report = check(mod, inputs, device=device, target=target, pipeline=settings.pipeline, strict=settings.strict)
    except UncompiledError as error:
        raise AssertionError(str(error)) from None
    except UnsupportedError as error:
        from ..base.pytest_outcomes import skip_unsupported

        skip_unsupported(name, error)
    if not report.ok:
        raise AssertionError(failure_text(report))
    for finding in report.findings:
        if finding.kind is Kind.UNINFORMATIVE:
            warnings.warn(f"verify_results on {name}: {finding.message}", stacklevel=3)


def build_and_run(mod: IRModule, inputs: Sequence[np.ndarray], tgt: TargetLike) -> tuple[np.ndarray, ...]:
    """Compile `mod` for `tgt` and run it on the first device of the test run; its outputs, also a single one, as a tuple."""
    from .compile import compile_model
    from .run.vm import run

    device, _ = _devices()[0]
    compiled = compile_model(mod, target=tgt, pipeline=_pipeline(), limits=device.info.limits, ml=device.info.ml)
    return tuple(run(compiled, inputs, device))


def run_local(mod: IRModule, inputs: Sequence[np.ndarray], target: TargetLike = "llvm") -> tuple[np.ndarray, ...]:
    """The outputs of `mod` on the CPU by TVM's llvm target."""
    from ..golden.model_reference import ModelReference

    if not _target_name(target).startswith("llvm"):
        raise AdrenoSimError(f"run_local on {_target_name(target)}: expected llvm")
    return tuple(ModelReference(mod).run(list(inputs)))


def _pipeline() -> Any:
    return current().pipeline


def _devices() -> list[tuple[Device, str]]:
    settings = current()
    options = {} if settings.checks is None else {"checks": settings.checks}
    announce_devices(settings.devices)
    return [(open_device(text, **options), text) for text in settings.devices]


def _inputs(mod: IRModule) -> list[np.ndarray]:
    """An array for each input of main, uniform in [0, 1) (integers: 0)."""
    generator = np.random.default_rng(0)
    arrays = []
    for item in load_model(mod).inputs:
        if item.symbols:
            raise AdrenoSimError(f"input {item.name!r}: expected a known shape, found {item.shape}")
        arrays.append(generator.uniform(0, 1, size=tuple(map(int, item.shape))).astype(item.dtype))
    return arrays


def _target_name(target: TargetLike) -> str:
    """A target's name; of a Target, a dict or JSON its kind and whether it has textures or CLML. For ids."""
    if isinstance(target, str) and not target.startswith("{"):
        return target
    kind, keys = target_kind(target)
    return "-".join([kind, *(key for key in keys if key in ("texture", "clml"))])
