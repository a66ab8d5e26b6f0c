"""`check_kernel`: compile one PrimFunc, run it on a device, compare it with its unscheduled self or with what is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ...backends.open import announce_devices
from ...base.errors import AdrenoSimError, OptionError
from ...base.progress import Progress
from ...device.protocol import Device, DeviceInfo
from ...results.model import Report
from ..artifact.model import CompiledModel
from ..extract.function import extract_function, host_side
from ..importers.model import is_prim_func, require_prim_func
from ..lower.pipeline import lower
from ..lower.targets import make_target
from ..tvm_bridge.versions import import_tvm
from .device import open_for_check
from .given import settle_references
from .golden import LiveGolden
from .kernel_arguments import Given, complete_arguments
from .prepare import ApplyPlan, CheckOptions, PreparedRun, Stage
from .stages.context import CheckContext
from .stages.run import run_check

Expectation = Any
"""What a kernel should compute: None, a callable, a PrimFunc, or arrays."""

OPTIONS = (
    "target", "pipeline", "without_fix", "shapes", "seed",
    "keep_going", "strict", "compare_with", "save", "allow", "explain", "counters", "time", "max_time", "baseline", "isa",
    "every_reading", "reproduce",
)  # fmt: skip
"""The fields of CheckOptions that mean something for one kernel."""


def check_kernel(
    prim_func: Any,
    args: Sequence[Given] | Mapping[str, Given] = (),
    expected: Expectation = None,
    *,
    device: str | Device | None = None,
    checks: str | None = None,
    name: str = "",
    progress: Progress | None = None,
    **options: Any,
) -> Report:
    """Compile `prim_func`, run it on `device` with `args`, compare what it writes.

    prim_func: a TIR PrimFunc, scheduled for a GPU or not. One that is not is scheduled as the pipeline schedules it.
    args: by parameter, in order or by name: arrays of the parameter's dtype, with shapes that fit its symbols, and numbers for
    scalars. An array that is missing or None is made: zeros for what is only written, seeded floats for what is read; its
    symbols must be known from the others, or from `shapes`. The caller's arrays stay unchanged.
    expected: None = the PrimFunc before scheduling; a callable over the arguments (`golden.given_references`), or a PrimFunc
    that says the same for the CPU; or arrays, by name or one for each parameter: what each should hold after the call, None
    if nothing is said of it.
    device, checks, progress: as of `check`. name: in place of the PrimFunc's own. options: target, pipeline, without_fix,
    shapes, seed, keep_going, strict, compare_with, save, allow, explain, counters, isa, every_reading, reproduce, as of `check`.

    Returns a Report as `check` does. Raises AdrenoSimError for bad arguments, UnsupportedError for what TVM or the device cannot
    do.
    """
    for given in options:
        if given not in OPTIONS:
            raise OptionError(given, f"means nothing for one kernel; there are: {', '.join(OPTIONS)}")
    wanted = CheckOptions.of(options, prim_func)
    require_prim_func(prim_func)
    announce_devices(text for text in (device, wanted.compare_with) if isinstance(text, str))
    asked = {key: value for key, value in {"checks": checks, "seed": options.get("seed")}.items() if value is not None}
    context = CheckContext(open_for_check(device, asked, wanted.counters), wanted, progress or Progress(), asked)
    return run_check(context, partial(prepare_kernel, prim_func, name or _name_of(prim_func), args, expected, wanted))


def prepare_kernel(
    prim_func: Any,
    name: str,
    args: Sequence[Given] | Mapping[str, Given],
    expected: Expectation,
    options: CheckOptions,
    device: DeviceInfo,
    stage: Stage,
    apply_plan: ApplyPlan,
) -> PreparedRun:
    """Compile a PrimFunc for a device like this one, settle its arguments and its reference. Errors as `check_kernel`."""
    from ...golden.truth.units import Units

    with stage("compile"):
        module = import_tvm().IRModule({name: prim_func.with_attr("global_symbol", name)})
        lowered = lower(module, make_target(options.target, device.limits), options.pipeline, options.without_fix)
        function = host_side(lowered, name)
        complete = complete_arguments(function, args, options.seed, options.shapes)
        compiled: CompiledModel = apply_plan(extract_function(lowered, function, complete))
    with stage("references"):
        names = [param.name for param in function.params]
        wanted = {} if expected is None else {name: as_reference(expected, names)}
        references = settle_references(wanted, lowered.unscheduled, Units.of_device(device), device.profile is None)
    missing = references.kernels.unavailable.values()
    unchecked = [f"function {name}: {reason}; give what it should compute (expected)" for reason in missing]
    arrays = {info.name: array for info, array in zip(compiled.inputs, _arrays(complete), strict=True)}
    origin = "given" if args else f"seed {options.seed}"
    golden = LiveGolden(references.all, given=references.names, has_truth=references.kernels.has_truth)
    return PreparedRun(compiled, arrays, origin, golden, {}, unchecked, kernels=references.kernels)


def _arrays(args: Sequence[Any]) -> list[np.ndarray]:
    return [arg for arg in args if isinstance(arg, np.ndarray)]


def _name_of(prim_func: Any) -> str:
    attributes = prim_func.attrs
    return str(attributes["global_symbol"]) if attributes and "global_symbol" in attributes else "kernel"


def as_reference(expected: Expectation, names: Sequence[str]) -> Any:
    """A callable, a PrimFunc, or arrays, as `settle_references` takes it. AdrenoSimError for arrays of no parameter."""
    if callable(expected) or is_prim_func(expected):
        return expected
    if isinstance(expected, Mapping):
        if unknown := [name for name in expected if name not in names]:
            raise AdrenoSimError(f"expected {', '.join(unknown)}: the parameters are {', '.join(names)}")
        results = [expected.get(name) for name in names]
    elif isinstance(expected, np.ndarray) or not isinstance(expected, Sequence):
        raise AdrenoSimError(
            f"expected is {type(expected).__name__}: expected a callable, a PrimFunc, or arrays by name or one for each parameter"
        )
    elif len(expected) != len(names):
        raise AdrenoSimError(f"{len(expected)} expected results: expected one for each parameter ({', '.join(names)}), or None")
    else:
        results = list(expected)
    return lambda *_: results
