"""What a check needs before anything runs on the device: the compiled model, inputs, and every reference.

All that TVM and ONNX made is let go at the end but the compiled model, the reference code of the kernels and the reference
outputs: a model's weights are large. What is left is kept on disk (`kept/`): a model that is checked once more as it was is ready
without TVM.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.allow import AllowEntry
from ...base.errors import OptionError
from ...base.processes.beside import count_native_threads, doing_beside
from ...device.protocol import DeviceInfo
from ...records import dataclass
from ...results.model import BufferTensor, ScopeSummary
from ..artifact.model import CompiledModel, as_compiled
from ..compile import extract_model, lower_model, naming_operator, read_model
from ..importers.inputs import Arrays, Inputs, check_inputs, require_file, require_room
from ..importers.model import Model, ModelInput
from ..lower.compile_options import CompileOptions
from ..tvm_bridge.installed_files import is_imported
from ..tvm_bridge.symbols import begin_reading_symbols, reading_symbols
from .cache.entry import Judged, PreparedModel, has_entries, load_prepared, store_prepared
from .cache.key import find_request
from .given import KernelReferences, settle_references
from .golden import Golden, LiveGolden, References, StoredGolden
from .outputs import Movement
from .whole_model.inputs import first_inputs
from .whole_model.kernel_stage import find_kernel_stage
from .whole_model.references import judge_by_truth, measure_movement, run_references
from .whole_model.stages import find_wrong_pass

if TYPE_CHECKING:
    from tvm import IRModule

    from ...golden.expectations import KernelExpectations
    from ...golden.kernel_reference import Argument
    from ...golden.subgraph_reference import SubgraphReference
    from ...golden.truth.units import Units
    from ..lower.pipeline import Lowered

Source = Any
"""What `check` takes: a path (.onnx, .pt2, .py, .asim), an ONNX model, an ExportedProgram of torch.export, a Relax IRModule,
or a CompiledModel."""

NO_GOLDEN = "this bundle carries no golden results (adreno-sim bundle --golden puts them in)"

MOST_BESIDE = 128 << 20
"""Bytes of weights up to which the references of a whole model run beside the lowering: both hold them."""


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
    time: the report has predicted times of each kernel (docs/time.md), of a simulated device. max_time: seconds of the lower end
    of their interval from which it is an error. baseline: a JSON report of an earlier run with times; kernels that became slower
    are warnings.
    every_reading: run launches again under each choice that is left to the device (docs/readings.md).
    isa: the report has the machine code of each kernel for these chips ("a630"), for the device's own where none is named (())
    (docs/machine-code.md).
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
    time: bool = False
    max_time: float | None = None
    baseline: str | os.PathLike[str] | None = None
    every_reading: bool = False
    isa: Sequence[str] | None = None
    reproduce: str | os.PathLike[str] | None = None
    reproduce_kernel: str = ""


@dataclass(frozen=True)
class PreparedRun:
    """A model that is ready to run. origin: the source of the inputs, in words. references: name -> outputs of the whole model.

    golden is None, and references empty, for a bundle without golden results, or on other inputs than theirs.
    unchecked: what no reference will say anything about. bound: relative tolerance of the outputs, None = their type's. truth:
    computes what rounding may do to the outputs, where `references` do not know it: the same references, which do.
    tuned: functions of a tuning folder, and the schedule each got. scopes: None for targets without
    textures. kernels: the references of kernels, where they run here and now. follow: the references with the device's order of
    sorted values where rounding decides it (`ModelTruth.run`). movement, wrong_pass: as of `judge_outputs`.
    wrong_stage: which stage of a function's lowering changed its meaning, by its name and the arguments of a call; "" for one
    with a reference of the caller's.
    alone: it was compiled just now, by a process with no threads but those that it has begun itself.
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
    movement: Movement | None = None
    wrong_pass: Callable[[], str] | None = None
    wrong_stage: Callable[[str, Sequence[Argument]], str] | None = None
    alone: bool = False


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
    natives = None if is_imported() else count_native_threads()
    with stage("cache"):
        if not has_entries():
            begin_reading_symbols()  # TVM will be imported
        found = begin(request.begin_key())
        known = load_prepared(found.result()) if has_entries() else None
    if known is not None:
        kernels = KernelReferences(known.kernels, known.kernels, ())
        return _ready(known, apply_plan(known.compiled), kernels, SubgraphReference({}, units), source, options, units)
    made = _make(source, inputs, options, device, stage, apply_plan, {}, units, natives)
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
    golden = LiveGolden(References(kernels.all, subgraphs), subgraphs, kernels.names, kernels.kernels.has_truth)
    reading, storage, lowering = options.reading, options.storage, options.lowering

    def judge(places: Sequence[np.ndarray] = ()) -> Judged:
        model = read_model(source, reading)  # again, if it was read before: weights are large
        return judge_by_truth(model, storage, arrays, references, unchecked, units, places)

    def move(reference: str) -> list[float] | None:
        return measure_movement(read_model(source, reading), storage.dtype, arrays, reference)

    def blame_kernel(name: str, args: Sequence[Argument]) -> str:
        return "" if name in kernels.names else find_kernel_stage(read_model(source, reading), lowering, name, args, units)

    def blame() -> str:
        return find_wrong_pass(read_model(source, reading), lowering, arrays, units)

    truth, outputs = (judge, references) if judged is None else (None, judged)
    return PreparedRun(
        compiled=compiled,
        arrays=arrays,
        origin=prepared.origin,
        golden=golden,
        references=outputs,
        unchecked=unchecked,
        tuned=prepared.tuned,
        scopes=prepared.scopes,
        kernels=kernels.kernels,
        truth=truth,
        follow=judge,
        movement=move,
        wrong_pass=blame,
        wrong_stage=blame_kernel,
    )


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
    natives: int | None = None,
) -> _Made:
    """Prepare a model that is not a bundle. natives: threads of libraries that there were before TVM; None where it was there
    already, whose threads a child by fork would wait for."""
    from ...golden.model_reference import weights_nbytes
    from ...golden.subgraph_reference import SubgraphReference

    reading, lowering = options.reading, options.lowering
    with stage("import"), reading_symbols():
        model = read_model(source, reading)
        if inputs is None:
            require_room(model, options.shapes, device.limits)
    alone = natives == count_native_threads() and weights_nbytes(model.module) <= MOST_BESIDE
    beside = alone and model.torch is None  # whose threads, if somebody has used it, a child would wait for
    settled: list[KernelReferences] = []

    def settle(unscheduled: IRModule) -> None:
        settled.append(settle_references(own, unscheduled, units, device.profile is None))
        settled[0].kernels.begin()  # while the functions are scheduled

    with doing_beside(lambda: run_references(model, inputs, reading, options.storage, units), beside) as references:
        with stage("compile"):
            with naming_operator(model, lowering, device.limits, device.ml):
                lowered = lower_model(model, lowering, device.limits, device.ml, settle)
                compiled = extract_model(lowered, model)
            (given,) = settled
            subgraphs, offloads = SubgraphReference(lowered.subgraphs, units), bool(lowered.subgraphs)
            scopes = None if lowered.unscoped is None else _scopes(lowered)
            tuned = dict(lowered.tuned)
            del lowered  # it has the weights once more
        placed = apply_plan(compiled)
        with stage("references"):
            found = references()
    unchecked = [f"function {name}: {reason}" for name, reason in given.kernels.unavailable.items()]
    unchecked += found.unchecked
    arrays, origin, judged = found.arrays, found.origin, found.judged
    prepared = PreparedModel(compiled, arrays, origin, found.references, judged, unchecked, given.kernels, tuned, scopes)
    run = _ready(prepared, placed, given, subgraphs, source, options, units)
    return _Made(replace(run, alone=alone), prepared, not offloads)


def _scopes(lowered: Lowered) -> ScopeSummary:
    """Which tensors are textures, and why others are not."""
    from ..explain.memory_scopes import decided_tensors
    from ..memory_scopes.rules import is_texture

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
    arrays, origin = first_inputs(_interface(compiled), inputs, options.inputs)
    return PreparedRun(
        compiled, arrays, origin, None, {}, [f"values: {'its golden results are for other inputs' if stored else NO_GOLDEN}"]
    )


def _interface(compiled: CompiledModel) -> Model:
    """A model without its module, as far as inputs are concerned."""
    return Model(
        compiled.name, None, tuple(ModelInput(item.name, item.shape, item.dtype, item.bounds) for item in compiled.inputs)
    )
