"""What a check needs before anything runs on the device: the compiled model, inputs, and every reference.

All that TVM and ONNX made is let go at the end but the compiled model, the reference code of the kernels and the reference
outputs: a model's weights are large. What is left is kept on disk (`kept/`): a model that is checked once more as it was is ready
without TVM.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.allow import AllowEntry
from ...base.errors import AdrenoSimError, OptionError
from ...device.protocol import DeviceInfo
from ...results.model import BufferTensor, ScopeSummary
from ..artifact.model import CompiledModel, as_compiled
from ..compile import extract_model, lower_model, naming_operator, read_model
from ..importers.inputs import Arrays, Inputs, check_inputs, make_inputs, require_file
from ..importers.load import Model, ModelInput
from ..lower.compile_options import CompileOptions
from .given import KernelReferences, settle_references
from .golden import Golden, LiveGolden, References, StoredGolden
from .input_indices import GENERATED, require_valid_indices
from .kept.entry import Judged, PreparedModel, has_entries, load_prepared, store_prepared
from .kept.key import find_request

if TYPE_CHECKING:
    from ...golden.expectations import KernelExpectations
    from ...golden.model_reference import ModelReference
    from ...golden.subgraph_reference import SubgraphReference
    from ...golden.truth.units import Units
    from ..lower.pipeline import Lowered

Source = Any
"""What `check` takes: a path (.onnx, .pt2, .py, .asim), an ONNX model, an ExportedProgram of torch.export, a Relax IRModule,
or a CompiledModel."""

Outputs = list[np.ndarray]

NO_GOLDEN = "this bundle carries no golden results (adreno-sim bundle --golden puts them in)"

SCALES = (1.0, 0.3, 0.1, 0.03, 0.01)
"""Scales tried for seeded float inputs, until the result neither saturates nor overflows."""


@dataclass(frozen=True, kw_only=True)
class CheckOptions(CompileOptions):
    """How a model is compiled and judged; every field is a keyword of `check`.

    Those of CompileOptions; seed also orders the work-items of a device that `check` opens.
    keep_going: go on after the first wrong value. strict: warnings count as errors.
    plan: the planner whose memory plan runs; None = the plan as compiled (the fixed pipeline's is that of tvm-fixed).
    references: what functions should compute, by name, in place of their own PrimFuncs: a callable over NumPy arrays
    (`golden.given_references`), or a PrimFunc that says the same for the CPU.
    compare_with: a second device: every call also runs there on the same inputs, and the results are compared.
    save: also write the compiled model to this file, as a bundle.
    allow: findings that are accepted; None = the entries of the nearest adreno-sim.toml or pyproject.toml.
    explain: the report names the accesses that are not proven in range, and says why.
    counters: the report has counters of each kernel (docs/counters.md), of a simulated device.
    reproduce: write the first failing launch to this folder (new or empty); reproduce_kernel: only a launch of this kernel.
    """

    keep_going: bool = False
    strict: bool = False
    plan: str | None = None
    references: Mapping[str, Any] = field(default_factory=dict)
    compare_with: str | None = None
    save: str | os.PathLike[str] | None = None
    allow: Sequence[AllowEntry] | None = None
    explain: bool = False
    counters: bool = False
    reproduce: str | os.PathLike[str] | None = None
    reproduce_kernel: str = ""


ONNX_RUNTIME = "ONNX Runtime"


@dataclass(frozen=True)
class PreparedRun:
    """A model that is ready to run. origin: the source of the inputs, in words. references: name -> outputs of the whole model.

    golden is None, and references empty, for a bundle without golden results, or on other inputs than theirs.
    unchecked: what no reference will say anything about. bound: relative tolerance of the outputs, None = their type's. truth:
    computes what rounding may do to the outputs, where `references` do not know it: the same references, which do.
    tuned: functions of a tuning folder, and the schedule each got. scopes: None for targets without
    textures. kernels: the references of kernels, where they run here and now. follow: the references with the device's order of
    sorted values where rounding decides it (`ModelTruth.run`).
    """

    compiled: CompiledModel
    arrays: Arrays
    origin: str
    golden: Golden | None
    references: Judged
    unchecked: list[str]
    bound: float | None = None
    tuned: dict[str, str] = field(default_factory=dict)
    scopes: ScopeSummary | None = None
    kernels: KernelExpectations | None = None
    truth: Callable[[], Judged] | None = None
    follow: Callable[[Sequence[np.ndarray]], Judged] | None = None


ApplyPlan = Callable[[CompiledModel], CompiledModel]
"""Maps the compiled model to the same model with the memory plan to run with."""

Stage = Callable[[str], AbstractContextManager[None]]
"""Brackets a named stage, for timing and progress."""


def prepare(
    source: Source,
    inputs: Inputs | None,
    options: CompileOptions,
    device: DeviceInfo,
    stage: Stage,
    apply_plan: ApplyPlan,
    own: Mapping[str, Any] | None = None,
) -> PreparedRun:
    """Import, compile for a device like this one, place the tensors, choose inputs, run the references; or take what is kept of
    all that. Errors as `check`.

    own: the caller's references of functions, as CheckOptions has them.
    """
    require_file(inputs)
    bundle = as_compiled(source)
    if bundle is not None:
        return _prepare_bundle(apply_plan(bundle), inputs, options)
    from ...golden.background import begin
    from ...golden.subgraph_reference import SubgraphReference
    from ...golden.truth.units import Units

    units = Units.of_device(device)
    request = find_request(source, inputs, options, device, own or {})
    if request is None:
        return _make(source, inputs, options, device, stage, apply_plan, own or {}, units).run
    with stage("cache"):
        found = begin(request.begin_key())
        known = load_prepared(found.result()) if has_entries() else None
    if known is not None:
        kernels = KernelReferences(known.kernels, known.kernels, ())
        return _ready(known, apply_plan(known.compiled), kernels, SubgraphReference({}, units), source, options, units)
    made = _make(source, inputs, options, device, stage, apply_plan, {}, units)
    if made.keeps:
        with stage("cache"):
            if (key := found.result()) and request.key() == key:  # no file was changed meanwhile
                store_prepared(key, made.prepared)
    return made.run


def _ready(
    prepared: PreparedModel,
    compiled: CompiledModel,
    kernels: KernelReferences,
    subgraphs: SubgraphReference,
    source: Source,
    options: CompileOptions,
    units: Units,
) -> PreparedRun:
    """The run of a prepared model. compiled: with the memory plan to run with."""
    arrays, references, unchecked, judged = prepared.arrays, prepared.references, prepared.unchecked, prepared.judged
    golden = LiveGolden(References(kernels.all, subgraphs), subgraphs, kernels.names)

    def judge(places: Sequence[np.ndarray] = ()) -> Judged:
        model = read_model(source, options)  # again, if it was read before: weights are large
        return _judge_by_truth(model, options, arrays, references, unchecked, units, places)

    truth, outputs = (judge, references) if judged is None else (None, judged)
    tuned, scopes = prepared.tuned, prepared.scopes
    origin = prepared.origin
    return PreparedRun(compiled, arrays, origin, golden, outputs, unchecked, None, tuned, scopes, kernels.kernels, truth, judge)


@dataclass(frozen=True)
class _Made:
    """keeps: whether a later run can do with `prepared`."""

    run: PreparedRun
    prepared: PreparedModel
    keeps: bool


def _make(
    source: Source,
    inputs: Inputs | None,
    options: CompileOptions,
    device: DeviceInfo,
    stage: Stage,
    apply_plan: ApplyPlan,
    own: Mapping[str, Any],
    units: Units,
) -> _Made:
    """Prepare a model that is no bundle."""
    from ...golden.errors import NoReferenceError
    from ...golden.model_expectations import computes_halves
    from ...golden.model_reference import ModelReference
    from ...golden.subgraph_reference import SubgraphReference
    from ..importers.fp16_storage import with_storage

    with stage("import"):
        model = read_model(source, options)
    with stage("compile"):
        with naming_operator(model, options, device.limits, device.ml):
            lowered = lower_model(model, options, device.limits, device.ml)
            compiled = extract_model(lowered, model)
        given = settle_references(own, lowered.unscheduled, units, device.profile is None)
        given.kernels.begin()
        subgraphs, offloads = SubgraphReference(lowered.subgraphs, units), bool(lowered.subgraphs)
        scopes = None if lowered.unscoped is None else _scopes(lowered)
        tuned = dict(lowered.tuned)
        del lowered  # it has the weights once more
    placed = apply_plan(compiled)
    with stage("references"):
        unchecked = [f"function {name}: {reason}" for name, reason in given.kernels.unavailable.items()]
        references: dict[str, Outputs] = {}
        try:
            arrays, origin, references["TVM llvm"] = choose_inputs(model, inputs, options, ModelReference(model.module))
        except NoReferenceError as error:  # a function that was written for a GPU: what else there is still judges
            unchecked.append(f"against {error}")
            arrays, origin = _first_inputs(model, inputs, options)
        if options.recast is not None:
            unchecked.append(f"against the model's own types: its layers are recast to {options.recast}, and judged as such")
        _add_own_runtime(model, arrays, references, unchecked, generated=inputs is None)
        judged: Judged | None = None
        if not references or computes_halves(with_storage(model.module, options.dtype, options.accumulate)):
            judged = _judge_by_truth(model, options, arrays, references, unchecked, units)
    prepared = PreparedModel(compiled, arrays, origin, references, judged, unchecked, given.kernels, tuned, scopes)
    run = _ready(prepared, placed, given, subgraphs, source, options, units)
    return _Made(run, prepared, not offloads)


def _judge_by_truth(
    model: Model,
    options: CompileOptions,
    arrays: Arrays,
    references: Mapping[str, Outputs],
    unchecked: list[str],
    units: Units,
    places: Sequence[np.ndarray] = (),
) -> Judged:
    """The references of a whole model with what rounding may do to its outputs; `unchecked` grows by what is not known."""
    from ...golden.model_expectations import judge_by_truth
    from ..importers.fp16_storage import with_storage

    stored = with_storage(model.module, options.dtype, options.accumulate)
    errors = {}
    if model.onnx is not None and ONNX_RUNTIME in references:
        from ...golden.onnx_error import last_errors

        errors[ONNX_RUNTIME] = last_errors(model.onnx, arrays)
    return judge_by_truth(stored, model.module, list(arrays.values()), references, unchecked, units, errors, places)


def _scopes(lowered: Lowered) -> ScopeSummary:
    """Which tensors are textures, and why others are not."""
    from ..explain.scopes import decided_tensors
    from ..scopes.rules import is_texture

    assert lowered.unscoped is not None
    tensors = decided_tensors(lowered.unscoped, lowered.target, lowered.scoping)
    buffers = [BufferTensor(t.name, t.producer, t.shape, t.dtype, t.why) for t in tensors if not is_texture(t.scope)]
    return ScopeSummary(len(tensors) - len(buffers), buffers, lowered.scoping.rule, lowered.scoping.weights)


def _prepare_bundle(compiled: CompiledModel, inputs: Inputs | None, options: CompileOptions) -> PreparedRun:
    stored = compiled.golden
    if options.shapes and (inputs is not None or stored is not None):
        raise OptionError("shapes", f"the inputs are {'stored with this bundle' if inputs is None else 'given, and have theirs'}")
    if stored is not None and inputs is None:
        references = {name: stored.outputs(name) for name in stored.references}
        arrays = check_inputs(_interface(compiled), stored.inputs())
        golden = StoredGolden(stored)
        return PreparedRun(compiled, arrays, stored.origin, golden, references, list(stored.unchecked), stored.bound)
    arrays, origin = _first_inputs(_interface(compiled), inputs, options)
    return PreparedRun(
        compiled, arrays, origin, None, {}, [f"values: {'its golden results are for other inputs' if stored else NO_GOLDEN}"]
    )


def _interface(compiled: CompiledModel) -> Model:
    """A model without its module, as far as inputs are concerned."""
    return Model(
        compiled.name, None, tuple(ModelInput(item.name, item.shape, item.dtype, item.bounds) for item in compiled.inputs)
    )


def _add_own_runtime(model: Model, arrays: Arrays, references: dict[str, Outputs], unchecked: list[str], generated: bool) -> None:
    """Add the outputs that the model's own framework computes. AdrenoSimError where it refuses inputs that nobody gave."""
    from ...golden.errors import RefusedInputsError
    from ...golden.model_reference import has_onnxruntime, run_onnx

    if model.torch is not None:
        from ...golden.torch_reference import run_torch

        try:
            references["PyTorch"] = run_torch(model.torch, model.arguments(arrays))
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


def choose_inputs(
    model: Model, inputs: Inputs | None, options: CompileOptions, whole: ModelReference
) -> tuple[Arrays, str, Outputs]:
    """The input arrays, their source in words, and the reference outputs for them.

    Seeded ones are scaled by the largest of SCALES at which every output says something, by 1 where none does. Raises
    AdrenoSimError where an operator or the reference does not take them, NoReferenceError where there is no reference.
    """
    from ...golden.errors import RefusedInputsError

    drawn, origin = _first_inputs(model, inputs, options)
    if inputs is not None:
        return drawn, origin, whole.run(list(drawn.values()))
    from ...results.comparison import why_uninformative

    first: Outputs | None = None
    for scale in SCALES if any(array.dtype.kind == "f" for array in drawn.values()) else SCALES[:1]:
        arrays = _scale(drawn, scale)
        try:
            outputs = whole.run(list(arrays.values()))
        except RefusedInputsError as error:
            raise AdrenoSimError(f"{error}; {GENERATED}") from error
        if not any(why_uninformative(output) for output in outputs):
            return arrays, origin + ("" if scale == 1 else f", scale {scale:g}"), outputs
        first = first or outputs
    assert first is not None
    return drawn, origin, first


def _first_inputs(model: Model, inputs: Inputs | None, options: CompileOptions) -> tuple[Arrays, str]:
    """The inputs that were given, else seeded ones of scale 1, and their source in words. Their indices are in range."""
    arrays, origin = _check_given(model, inputs) or (
        make_inputs(model, None, options.seed, options.shapes),
        f"seed {options.seed}",
    )
    require_valid_indices(model, arrays, generated=inputs is None)
    return arrays, origin


def _check_given(model: Model, inputs: Inputs | None) -> tuple[Arrays, str] | None:
    """Inputs that the caller gave, checked against the model."""
    if inputs is None:
        return None
    if isinstance(inputs, (str, os.PathLike)):
        return make_inputs(model, inputs), str(inputs)
    if isinstance(inputs, Mapping):
        return check_inputs(model, inputs), "given"
    names = [item.name for item in model.inputs]
    if len(inputs) != len(names):
        raise AdrenoSimError(f"{len(inputs)} inputs given: the model expects {len(names)} ({', '.join(names)})")
    return check_inputs(model, dict(zip(names, inputs, strict=True))), "given"


def _scale(arrays: Arrays, scale: float) -> Arrays:
    if scale == 1:
        return arrays
    return {name: (array * scale).astype(array.dtype) if array.dtype.kind == "f" else array for name, array in arrays.items()}
