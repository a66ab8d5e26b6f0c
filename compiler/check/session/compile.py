"""A module in, a model with entries and the references of its kernels out."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from ....base.errors import AdrenoSimError
from ....device.protocol import DeviceInfo
from ....records import dataclass
from ...artifact.model import CompiledModel, as_compiled
from ..golden import LiveGolden
from ..prepare import CheckOptions

if TYPE_CHECKING:
    from ....golden.expectations import KernelExpectations

OPTIONS = ("target", "pipeline", "without_fix", "rule", "weights", "references", "seed", "strict", "allow", "time")
"""The fields of CheckOptions that mean something for a session."""


@dataclass(frozen=True)
class SessionModel:
    """model: it has entries. golden, kernels: of its kernels, None for a bundle. unchecked: what these say nothing about."""

    model: CompiledModel
    golden: LiveGolden | None = None
    kernels: KernelExpectations | None = None
    unchecked: list[str] = field(default_factory=list)


def compile_for_session(source: Any, reference: Any, name: str, options: CheckOptions, device: DeviceInfo) -> SessionModel:
    """Compile a Relax module, whose public functions become entries. A bundle of a session comes back unchanged.

    reference: the same module for the CPU, whose kernels of a KV cache say what the module's own should compute; None = there is
    none. Raises AdrenoSimError for what is neither, UncompiledError if TVM cannot lower the module.
    """
    compiled = as_compiled(source)
    if compiled is not None:
        if not compiled.entries:
            raise AdrenoSimError("this model has one function and no entries: adreno_sim.check runs it")
        return SessionModel(compiled)
    from ....golden.truth.units import Units
    from ...extract.module import extract_entries
    from ...lower.pipeline import lower
    from ...lower.targets import make_target
    from ...tvm_bridge.versions import import_tvm
    from ..given import settle_references
    from .cache_kernels import pair_cache_kernels

    if not isinstance(source, import_tvm().IRModule):
        raise AdrenoSimError(f"session over {type(source).__name__}: expected a Relax IRModule, or a bundle of a session (.asim)")
    target = make_target(options.target, device.limits)
    lowered = lower(source, target, options.pipeline, options.without_fix, scoping=options.scoping)
    compiled = extract_entries(lowered, name)
    pairs = {} if reference is None else pair_cache_kernels(source, reference)
    known = {var.name_hint for var, _ in lowered.unscheduled.functions_items()}
    given = {key: function for key, function in pairs.items() if key in known} | dict(options.references)
    kernels = settle_references(given, lowered.unscheduled, Units.of_device(device), device.profile is None)
    used = {function.golden for function in compiled.host_functions.values()}
    unchecked = [f"function {name}: {why}" for name, why in kernels.kernels.unavailable.items() if name in used]
    return SessionModel(
        compiled, LiveGolden(kernels.all, None, kernels.names, kernels.kernels.has_truth), kernels.kernels, unchecked
    )
