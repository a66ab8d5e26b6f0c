"""Lower a Relax module with TVM's Adreno pipelines and keep every stage that later steps read.

`stock` runs TVM's own passes unchanged; `fixed` adds the fixes of `passes.registry`. Both run the TIR pipeline as the
(passes, host passes, device passes) triple that `tvm.tirx.build` requires; TVM's Adreno pipeline is a bare pass, which
`tvm.compile` rejects with a TypeError in every version.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from textwrap import shorten
from typing import TYPE_CHECKING, Any, Literal, Protocol, Union

from ...base.errors import AdrenoSimError, OptionError, UncompiledError
from ...mlops.policy import OffloadPolicy
from ...profiles.profile import default_capabilities
from ...records import dataclass
from ..artifact.model import OffloadDecision
from ..memory_scopes.scoping import TVMS, Scoping
from ..memory_scopes.scoping_passes import replace_scoping
from ..passes import private_function
from ..passes.base import SCHEDULE, Fix
from ..passes.fold_layouts import fold_given_functions, fold_layouts
from ..passes.registry import choose
from ..plan.planning_pass import with_planner
from ..tvm_bridge.call_operators import Calls, FusionWatch
from ..tvm_bridge.operator_names import with_all_named
from ..tvm_bridge.pass_pipelines import Snapshot, clone, run_with_insertions, watching, with_own_constants
from ..tvm_bridge.versions import import_tvm
from .codegen_limits import require_printable
from .fold_constant import fold_constant
from .given_pipeline import GIVEN, GivenPipeline, run_given
from .known_pipeline import require_pipeline
from .targets import TargetLike, make_target

if TYPE_CHECKING:
    from tvm import IRModule
    from tvm.ir.transform import Pass
    from tvm.target import Target

    from ...golden.subgraph import Subgraph
    from ..clml.partition import Offload

REASON = 240
"""Most characters of TVM's message in one of ours: some of it print whole objects."""

PipelineName = Literal["fixed", "stock"]

PipelineLike = Union[PipelineName, GivenPipeline]


@dataclass(frozen=True)
class Lowered:
    """A module at every stage of lowering. Function names agree between all the stages.

    imported: as given, before any pass (the whole-model golden reference is built from it).
    relax: the VM level: after VMShapeLower and AttachGlobalSymbol, before VM code generation; Relax functions, and
        the scheduled PrimFuncs they call.
    unscheduled: the PrimFuncs before ApplyDefaultSchedule, buffers carrying their storage scopes (per-kernel golden); what came
        scheduled, as the fixes repair it.
    tir: after tirx.SplitHostDevice: host functions, and kernels (PrimFuncs with `tirx.kernel_launch_params`).
    sources: kernel name -> its OpenCL C, each a separate program.
    fixes: names of the fixes that ran, in order.
    unscoped: Relax functions just before scopes are decided; None for a target without textures. scoping: how they were.
    subgraphs: what is offloaded to OpenCL ML, by name; offload: what was decided about that.
    tuned: functions of a tuning folder, and the schedule each got. operators: the calls of each Relax function once operators are
    fused, with the names of those that each does.
    """

    imported: IRModule
    relax: IRModule
    unscheduled: IRModule
    tir: IRModule
    sources: dict[str, str]
    target: Target
    pipeline: str
    fixes: tuple[str, ...]
    subgraphs: dict[str, Subgraph] = field(default_factory=dict)
    offload: tuple[OffloadDecision, ...] = ()
    unscoped: IRModule | None = None
    scoping: Scoping = TVMS
    tuned: Mapping[str, str] = field(default_factory=dict)
    operators: Mapping[str, Calls] = field(default_factory=dict)


class ScheduleSource(Protocol):
    """Schedules that go before TVM's own. first_schedule: name of the pass before which no function is scheduled yet.
    applied: what became of each function, filled while passes run."""

    first_schedule: str
    applied: dict[str, str]

    def add_passes(self, passes: list[Pass]) -> list[Pass]: ...


def lower(
    mod: IRModule,
    target: TargetLike,
    pipeline: PipelineLike = "fixed",
    without: Sequence[str] = (),
    limits: Mapping[str, Any] | None = None,
    offload: OffloadPolicy | None = None,
    tuned: ScheduleSource | None = None,
    planner: Pass | None = None,
    scoping: Scoping = TVMS,
    begin: Callable[[IRModule], object] | None = None,
) -> Lowered:
    """Lower `mod` for an Adreno target.

    target: as `targets.make_target` takes it. pipeline: "fixed", "stock", or Relax passes in their place (a pass, or a callable
    from module to module), after which the fixes of TIR still run. without: names of fixes to leave out (not of `stock`).
    limits: of the device (`DeviceInfo.limits`), so that TVM makes no image it cannot hold; None = TVM's own defaults.
    offload: what goes to OpenCL ML with target clml; None = by the default device's figures.
    tuned: schedules that go before TVM's own; it notes which were taken. planner: instead of TVM's memory planner
    (`plan.planning_pass.plan_memory`). scoping: how scopes are decided. begin: is given `Lowered.unscheduled` as soon as it is
    known, to begin what another core can do meanwhile.
    Raises AdrenoSimError for an unknown pipeline or fix, UncompiledError if TVM cannot lower the module.
    """
    given = None if isinstance(pipeline, str) else pipeline
    name = pipeline if isinstance(pipeline, str) else GIVEN
    fixes = select_fixes(pipeline if isinstance(pipeline, str) else "fixed", without)
    if given is not None:
        fixes = tuple(fix for fix in fixes if fix.relax is None)
    tvm_target = make_target(target, limits)
    clml = _offload(tvm_target, offload)
    imported = clone(mod)
    if given is None:
        _refuse_calls(mod, tvm_target, fixes)
    elif clml is not None or tuned is not None:
        raise OptionError("pipeline", f"a given one has no place for {'OpenCL ML' if clml else 'tuned schedules'}: leave one out")
    fusion = FusionWatch()
    unscheduled = _Unscheduled(fixes, begin)
    unscoped, split_point = Snapshot("AnnotateCustomMemoryScope", "before"), Snapshot("tirx.SplitHostDevice", "after")
    try:
        own = with_own_constants(with_all_named(mod))
        if given is not None:
            with watching(unscoped, fusion.before, fusion.after):
                vm_level, functions = run_given(given, own, tvm_target)
            unscheduled.note(functions)
        else:
            watchers = (unscoped, fusion.before, fusion.after)
            vm_level = _lower_relax(own, tvm_target, fixes, clml, tuned, planner, scoping, unscheduled, watchers)
        split, final = _lower_tir(_prim_funcs(vm_level), tvm_target, fixes, split_point)
        sources = _sources(final, fixes)
    except AdrenoSimError:
        raise
    except Exception as error:  # TVM raises whatever its C++ and Python layers raise
        if unscheduled.error is not None:
            raise unscheduled.error from None
        failed = unscoped.open_pass or split_point.open_pass
        where = f"in pass {failed}: " if failed else ""
        whose = "the given" if given is not None else f"TVM's {name}"
        raise UncompiledError(f"unsupported: {whose} pipeline fails on this module: {where}{reason(error)}") from error
    names = tuple(fix.name for fix in fixes)
    lowered = Lowered(
        imported, vm_level, unscheduled.module, split, sources, tvm_target, name, names,
        unscoped=unscoped.module if given is None else None,
        scoping=scoping, tuned={} if tuned is None else tuned.applied, operators=fusion.operators(),
    )  # fmt: skip
    return lowered if clml is None else replace(lowered, subgraphs=clml.subgraphs, offload=tuple(clml.decisions))


def _offload(target: Target, policy: OffloadPolicy | None) -> Offload | None:
    """The partitioning for OpenCL ML; None for other targets. UnsupportedError with a TVM that has none."""
    if "clml" not in target.keys:
        return None
    from ..clml.partition import Offload, require_series

    require_series()
    return Offload(policy or OffloadPolicy(capabilities=default_capabilities()))


def _refuse_calls(mod: IRModule, target: Target, fixes: Sequence[Fix]) -> None:
    """Textures are for modules whose functions do not call one another, or only private ones."""
    calls = private_function.calls(mod) if "texture" in target.keys else []
    if calls and private_function.FIX in fixes:
        calls = private_function.calls(private_function.inline_private_functions()(mod))
    if calls:
        caller, callee = calls[0]
        raise UncompiledError(
            f"unsupported: {caller} calls {callee}: TVM's passes for textures stop at calls of functions. Make it private (not "
            "recursive), so that the fixed pipeline inlines it, or compile for buffers"
        )


def select_fixes(pipeline: str, without: Sequence[str]) -> tuple[Fix, ...]:
    """The fixes of a pipeline but those in `without`. AdrenoSimError for an unknown pipeline or fix."""
    require_pipeline(pipeline, without)
    return choose(without) if pipeline == "fixed" else ()


def reason(error: Exception) -> str:
    """TVM's message without its stack of frames: the last line that says something."""
    lines = [line.strip() for line in str(error).splitlines()]
    said = [line for line in lines if line and not re.match(r"(File |\d+: |\^|Stack trace|During handling)", line)]
    return f"{type(error).__name__}: {shorten(said[-1], REASON, placeholder=' ...')}" if said else type(error).__name__


class _Unscheduled:
    """The PrimFuncs before they are scheduled, with the repairs of fixes in one that came scheduled: its kernel is right if it
    computes what that says. begin: is given them at once; error: what it raised, which is of no pass."""

    def __init__(self, fixes: Sequence[Fix], begin: Callable[[IRModule], object] | None):
        self.module: IRModule | None = None
        self.error: Exception | None = None
        self._fixes, self._begin = fixes, begin

    def note(self, mod: IRModule) -> IRModule:
        """Takes the PrimFuncs of a module, the first time. Returns it."""
        if self.module is None:
            tvm = import_tvm()
            makers = [fix.reference for fix in self._fixes if fix.reference is not None]
            self.module = tvm.transform.Sequential([make() for make in makers])(_prim_funcs(mod))
            if self._begin is not None:
                try:
                    with tvm.target.Target("llvm"):  # what runs on the CPU is compiled for it
                        self._begin(self.module)
                except Exception as error:  # of any kind: a pass hands it on as TVM's, and `lower` raises this one
                    self.error = error
                    raise
        return mod


def _lower_relax(
    mod: IRModule,
    target: Target,
    fixes: Sequence[Fix],
    clml: Offload | None,
    tuned: ScheduleSource | None,
    planner: Pass | None,
    scoping: Scoping,
    unscheduled: _Unscheduled,
    watchers: Sequence[object],
) -> IRModule:
    """The module at VM level."""
    tvm = import_tvm()
    with target:
        plain = not fixes and clml is None and tuned is None and planner is None
        plain = plain and scoping == TVMS
        passes = [tvm.relax.get_default_pipeline(target)] if plain else relax_passes(target, fixes, clml, scoping)
        if tuned is not None:
            passes = tuned.add_passes(passes)
        if planner is not None:
            passes = with_planner(passes, planner)
        first_schedule = SCHEDULE if tuned is None else tuned.first_schedule
        lowered = run_with_insertions(tvm.transform.Sequential(passes), mod, {first_schedule: unscheduled.note}, watchers)
    unscheduled.note(lowered)
    return lowered


def relax_passes(target: Target, fixes: Sequence[Fix], clml: Offload | None = None, scoping: Scoping = TVMS) -> list[Pass]:
    """TVM's Relax passes for the target with the fixes, and quicker folding. Needs the target to be the current one.

    clml: partitions for OpenCL ML, in place of TVM's pass: that needs a code generator which its wheels have not. scoping: how
    scopes are decided; OptionError if the target has none to decide.
    """
    stages = import_tvm().relax.pipeline
    dispatch = stages.library_dispatch_passes(target) if clml is None else [clml.as_pass()]
    passes: list[Pass] = [
        *dispatch, *stages.legalize_passes(target),
        *stages.dataflow_lower_passes(target), *stages.finalize_passes(target),
    ]  # fmt: skip
    folding = {"FoldConstant": fold_layouts, "tirx.BindTarget": fold_given_functions}
    passes = [step for item in passes for step in ([folding[item.info.name](), item] if item.info.name in folding else [item])]
    passes = [fold_constant() if item.info.name == "FoldConstant" else item for item in passes]
    passes = replace_scoping(passes, target, scoping)
    for fix in fixes:
        if fix.relax is not None:
            passes = fix.relax(passes, target)
    return passes


def _prim_funcs(mod: IRModule) -> IRModule:
    tvm = import_tvm()
    functions = {var: func for var, func in mod.functions_items() if isinstance(func, tvm.tirx.PrimFunc)}
    return tvm.IRModule(functions, attrs=mod.attrs)


def _lower_tir(mod: IRModule, target: Target, fixes: Sequence[Fix], split: Snapshot) -> tuple[IRModule, IRModule]:
    """The PrimFuncs as `tirx.SplitHostDevice` leaves them, a copy that `split` takes, and those after the whole pipeline."""
    tvm = import_tvm()
    mod = tvm.tirx.transform.BindTarget(target.with_host(tvm.target.Target("llvm")))(mod)
    insertions: dict[str, Any] = {}
    for fix in fixes:
        if fix.tir is not None:
            name, make = fix.tir
            insertions[name] = tvm.transform.Sequential([*([insertions[name]] if name in insertions else []), make()])
    instead = {fix.instead[0]: fix.instead[1]() for fix in fixes if fix.instead is not None}
    with target:
        final = run_with_insertions(tir_triple(target)[0], mod, insertions, [split], instead)
    if split.module is None:
        raise UncompiledError("unsupported: TVM's TIR pipeline ran no tirx.SplitHostDevice")
    return split.module, final


def tir_triple(target: Target) -> tuple[Any, Any, Any]:
    """(passes, host passes, device passes) for the target: the shape every caller in TVM expects of a TIR pipeline."""
    from tvm.tirx import compilation_pipeline as pipelines

    found = pipelines.get_default_tir_pipeline(target)
    if isinstance(found, tuple):
        return found
    return found, pipelines.finalize_host_passes, pipelines.finalize_device_passes


def _sources(final: IRModule, fixes: Sequence[Fix] = ()) -> dict[str, str]:
    """OpenCL C of every kernel, by kernel name. UncompiledError for one for which TVM writes no right text."""
    tvm = import_tvm()
    from tvm.tirx.build import split_host_device_mods

    sources: dict[str, str] = {}
    _, by_target = split_host_device_mods(final)
    for target, mod in by_target.items():
        mod = tir_triple(target)[2]()(mod)
        for fix in fixes:
            if fix.device is not None:
                mod = fix.device()(mod)
        require_printable(mod)
        built = tvm.get_global_func(f"target.build.{target.kind.name}")(mod, target)
        sources.update(split_sources(built.inspect_source()))
    return sources


def split_sources(text: str) -> dict[str, str]:
    """The pieces of TVM's combined source: after each line `// Function: NAME` stands one complete program.

    Each begins with declarations of all kernels of the module, and so asks for half as soon as one of them does. What a
    kernel does not need for itself is left blank, line by line: a float kernel then builds where half does not exist.
    """
    pieces = re.split(r"^// Function: (\S+)\n", text, flags=re.MULTILINE)
    return {name: _alone(name, piece) for name, piece in zip(pieces[1::2], pieces[2::2], strict=True)}


_DECLARATION = re.compile(r"^__kernel void (?:__attribute__\(\(.*\)\) )?(\w+)\([^;{]*\);[ \t]*$", re.MULTILINE)
_NEEDED_BY = {"cl_khr_fp16": "half|imageh|IMAGEH", "cl_khr_fp64": "double"}
_HEADERS = [
    (re.compile(rf"^#ifdef {extension}\n(?:#.*\n)*?#endif\n", re.MULTILINE), re.compile(rf"^(?!#).*(?:{uses})", re.MULTILINE))
    for extension, uses in _NEEDED_BY.items()
]
"""The lines that ask for an extension, and what in other lines needs it."""


def _alone(name: str, piece: str) -> str:
    """One program without the declarations of other kernels, and without asking for a type that nothing left has."""
    piece = _DECLARATION.sub(lambda match: match[0] if match[1] == name else "", piece)
    for header, needed in _HEADERS:
        if not needed.search(piece):
            piece = header.sub(lambda match: "\n" * match[0].count("\n"), piece)
    return piece
