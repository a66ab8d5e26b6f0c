"""What a whole model should compute: TVM for the CPU, the model's own framework, and what rounding may do to the outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ....base.errors import AdrenoSimError
from ....records import dataclass
from ...importers.inputs import Arrays, Inputs
from ...importers.model import Model
from ...lower.option_records import ReadOptions, StorageOptions
from ..cache.entry import Judged
from ..outputs import LLVM, ONNX_RUNTIME, PYTORCH
from .input_indices import GENERATED
from .inputs import Outputs, choose_inputs, first_inputs

if TYPE_CHECKING:
    from ....golden.truth.units import Units


@dataclass(frozen=True)
class ReferenceRun:
    """A model's inputs, their source in words, and its outputs by implementation. unchecked: what none says anything about.

    judged: the references with what rounding may do to them, where the type of the outputs alone does not say it, else None.
    """

    arrays: Arrays
    origin: str
    references: Mapping[str, Outputs]
    judged: Judged | None
    unchecked: list[str]


def run_references(
    model: Model, inputs: Inputs | None, reading: ReadOptions, storage: StorageOptions, units: Units
) -> ReferenceRun:
    """Choose inputs, and run every reference on them. reading: how the model was read. Errors as `check`."""
    from ....golden.errors import NoReferenceError
    from ....golden.model_expectations import computes_halves
    from ....golden.model_reference import ModelReference
    from ...importers.fp16_storage import with_storage

    unchecked: list[str] = []
    references: dict[str, Outputs] = {}
    try:
        arrays, origin, references[LLVM] = choose_inputs(model, inputs, reading.inputs, ModelReference(model.module))
    except NoReferenceError as error:  # a function that was written for a GPU: what else there is still judges
        unchecked.append(f"against {error}")
        arrays, origin = first_inputs(model, inputs, reading.inputs)
    recast = reading.layers.recast
    if recast is not None:
        unchecked.append(f"against the model's own types: its layers are recast to {recast}, and judged as such")
    _add_own_runtime(model, arrays, references, unchecked, generated=inputs is None)
    judged: Judged | None = None
    if not references or computes_halves(with_storage(model.module, storage.dtype, storage.accumulate)):
        judged = judge_by_truth(model, storage, arrays, references, unchecked, units) or None
    return ReferenceRun(arrays, origin, references, judged, unchecked)


def judge_by_truth(
    model: Model,
    storage: StorageOptions,
    arrays: Arrays,
    references: Mapping[str, Outputs],
    unchecked: list[str],
    units: Units,
    places: Sequence[np.ndarray] = (),
) -> Judged:
    """The references of a whole model with what rounding may do to its outputs; `unchecked` grows by what is not known."""
    from ....golden.model_expectations import judge_by_truth as judge
    from ...importers.fp16_storage import with_storage

    stored = with_storage(model.module, storage.dtype, storage.accumulate)
    errors = {}
    if model.onnx is not None and ONNX_RUNTIME in references:
        from ....golden.onnx_error import last_errors

        errors[ONNX_RUNTIME] = last_errors(model.onnx, arrays)
    return judge(stored, model.module, list(arrays.values()), references, unchecked, units, errors, places)


def measure_movement(model: Model, dtype: str, arrays: Arrays, reference: str) -> list[float] | None:
    """How far one unit in the last place of the weights and inputs moves each of a reference's outputs; None of one that has no
    runs, or where these fail. dtype: in which the device keeps its tensors, whose unit it is."""
    from ....golden import instability

    runs: dict[str, Callable[[np.random.Generator], Sequence[np.ndarray]]] = {
        LLVM: lambda rng: instability.run_llvm_nudged(model.module, list(arrays.values()), rng, dtype)
    }
    if model.onnx is not None:
        onnx = model.onnx
        runs[ONNX_RUNTIME] = lambda rng: instability.run_onnx_nudged(onnx, arrays, rng, dtype)
    if model.torch is not None:
        runs[PYTORCH] = lambda rng: instability.run_torch_nudged(model.torch, model.arguments(arrays), rng, dtype)
    if reference not in runs:
        return None
    try:
        return instability.measure_movement(runs[reference])
    except AdrenoSimError:
        return None


def _add_own_runtime(model: Model, arrays: Arrays, references: dict[str, Outputs], unchecked: list[str], generated: bool) -> None:
    """Add the outputs that the model's own framework computes. AdrenoSimError if it refuses inputs that nobody gave."""
    from ....golden.errors import RefusedInputsError
    from ....golden.model_reference import has_onnxruntime, run_onnx

    if model.torch is not None:
        from ....golden.torch_reference import run_torch

        try:
            references[PYTORCH] = run_torch(model.torch, model.arguments(arrays))
        except AdrenoSimError as error:
            if generated:
                raise AdrenoSimError(f"{error}; {GENERATED}") from error
            raise
    if model.onnx is not None and has_onnxruntime():
        try:
            references[ONNX_RUNTIME] = run_onnx(model.onnx, arrays)
        except AdrenoSimError as error:  # an operator or a version it does not know: TVM llvm still judges
            if generated and isinstance(error, RefusedInputsError):
                raise AdrenoSimError(f"{error}; {GENERATED}") from error
            unchecked.append(f"against {error}")
    elif model.onnx is not None:
        unchecked.append("against ONNX Runtime: it is not installed")
