"""The known defects of TVM's Adreno path, each with a model that shows it and the fix that removes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from ...base.errors import AdrenoSimError, UnsupportedError
from ...device.protocol import Device
from ...records import dataclass
from ..check.check import check
from ..lower.targets import make_target
from ..passes.registry import FIXES
from ..tvm_bridge.versions import import_tvm, tvm_series
from . import attention, language_kernels, models, own_texture

if TYPE_CHECKING:
    from ..artifact.model import CompiledModel

OK = "ok"

Verdict = Callable[[Device, str, tuple[str, ...]], str]
"""(device, pipeline, fixes left out) -> "ok", or what goes wrong in a few words."""


@dataclass(frozen=True)
class Defect:
    """One defect of TVM. summary: what TVM does wrong. fix: names of fixes (`passes.registry`), or in words what replaces them.

    target: of the model that shows it, "texture" or "buffer". build: makes that model; None if it is not a Relax module.
    """

    name: str
    summary: str
    fix: str
    target: str
    judge: Verdict
    build: Callable[[], Any] | None = None


def run(build: Callable[[], Any], target: str) -> Verdict:
    """The verdict of `check` on a model."""

    def judge(device: Device, pipeline: str, without: tuple[str, ...]) -> str:
        try:
            report = check(build(), device=device, target=target, pipeline=pipeline, without_fix=without, allow=())
        except UnsupportedError as error:
            return f"does not compile ({_short(error)})"
        except AdrenoSimError as error:
            return _short(error)
        errors = [finding for finding in report.findings if finding.severity.name == "ERROR"]
        if not errors:
            return OK if report.ok else "not checked"
        place = errors[0].kernel or errors[0].tensor
        return f"{errors[0].kind.label} in {place}"

    return judge


def _short(error: Exception) -> str:
    text = str(error).splitlines()[0].partition("; it begins with ")[0].partition("fails on this module: ")
    said = text[2] or text[0].removeprefix("unsupported: ")
    return said if len(said) <= 90 else said[:87] + "..."


def lowers(build: Callable[[], Any], target: str) -> Verdict:
    """Whether a model compiles, for one that has no reference in every TVM."""

    def judge(device: Device, pipeline: str, without: tuple[str, ...]) -> str:
        try:
            _compile(build(), target, device, pipeline, without)
        except AdrenoSimError as error:
            return f"does not compile ({_short(error)})"
        return OK

    return judge


def lowers_entries(build: Callable[[], Any], target: str) -> Verdict:
    """Whether a module with several functions lowers, for a defect that is fixed, and looked for, from 0.27 on."""

    def judge(device: Device, pipeline: str, without: tuple[str, ...]) -> str:
        from ..lower.pipeline import lower

        kind: Literal["stock", "fixed"] = "stock" if pipeline == "stock" else "fixed"
        try:
            if tvm_series() == "0.27":
                lower(build(), make_target(target), kind, without, device.info.limits)
        except AdrenoSimError as error:
            return f"does not compile ({_short(error)})"
        return OK

    return judge


def takes_the_pipeline(_device: Device, pipeline: str, _without: tuple[str, ...]) -> str:
    """Whether TVM's own entry point takes its Adreno pipeline; this project runs the passes itself."""
    tvm = import_tvm()
    if pipeline == "fixed":
        return OK
    try:
        tvm.compile(models.module(lambda x: tvm.relax.op.nn.relu(x)), target=make_target("buffer"), tir_pipeline="adreno")
    except TypeError as error:
        return f"TypeError: {_short(error)}"
    return OK


def runs_since(series: str, build: Callable[[], Any], target: str) -> Verdict:
    """`run`, for a defect that is fixed, and looked for, from a series of TVM on."""
    judge = run(build, target)
    return lambda device, pipeline, without: OK if tvm_series() < series else judge(device, pipeline, without)


def plan(build: Callable[[], Any]) -> Verdict:
    """Whether the memory plan takes more than its tensors need."""

    def judge(device: Device, pipeline: str, without: tuple[str, ...]) -> str:
        compiled = _compile(build(), "texture", device, pipeline, without)
        summary = compiled.plan.summary if compiled.plan is not None else None
        if summary is None or summary.planned <= summary.right:
            return OK
        return f"{summary.planned:,} bytes planned where {summary.right:,} are enough"

    return judge


def _compile(module: Any, target: str, device: Device, pipeline: str, without: tuple[str, ...]) -> CompiledModel:
    from ..compile import compile_model

    kind: Literal["stock", "fixed"] = "stock" if pipeline == "stock" else "fixed"
    return compile_model(module, target=target, pipeline=kind, without_fix=without, limits=device.info.limits)


def _in_textures(name: str, fix: str, build: Callable[[], Any], summary: str) -> Defect:
    return Defect(name, summary, fix, "texture", run(build, "texture"), build)


DEFECTS: tuple[Defect, ...] = (
    Defect(
        "pipeline-tuple",
        "tvm.compile does not take the Adreno TIR pipeline, a bare pass where it requires a triple",
        "the pipeline's passes are run as the triple that TVM's build requires",
        "buffer",
        takes_the_pipeline,
    ),
    _in_textures(
        "texture-store",
        "texture-store",
        models.convolution,
        "a texel is stored once per lane, and ends up as four times its last channel",
    ),
    _in_textures(
        "pool-accumulator",
        "pool-accumulator",
        models.pooling,
        "the four lanes of a pooling share an accumulator of one element",
    ),
    _in_textures(
        "average-pooling",
        "pool-accumulator",
        models.average_pooling,
        "average pooling without padding does not compile for textures",
    ),
    _in_textures(
        "texel-race", "texel-race", models.mean_in_texture, "four work-items race for one texel of a left-over function"
    ),
    Defect(
        "reduction-epilogue",
        "after a reduction in blocks, work-items read sums that others made",
        "reduction-epilogue",
        "buffer",
        run(models.blocked_reduction, "buffer"),
        models.blocked_reduction,
    ),
    Defect(
        "blocked-row",
        "the sum of a row in blocks (groups of a 1x1 convolution over one pixel) does not compile",
        "reduction-epilogue",
        "buffer",
        run(models.blocked_row, "buffer"),
        models.blocked_row,
    ),
    Defect(
        "blocked-rest",
        "a reduction in blocks that do not divide its axis stores behind the end of a row, or does not compile",
        "reduction-epilogue",
        "buffer",
        run(models.blocked_rest, "buffer"),
        models.blocked_rest,
    ),
    Defect(
        "mean-of-all",
        "what follows a sum over all axes of a tensor, as the division of a mean, does not compile",
        "reduction-epilogue",
        "buffer",
        run(models.mean_of_all, "buffer"),
        models.mean_of_all,
    ),
    Defect(
        "one-term-reduction",
        "what follows a sum of one term (one channel, K = 1) is applied to it twice",
        "one-term-reduction",
        "buffer",
        run(models.one_channel_convolution, "buffer"),
        models.one_channel_convolution,
    ),
    Defect(
        "own-threads",
        "scatters, which come with their threads, do not get through the schedule rules",
        "own-threads",
        "buffer",
        run(models.scatter, "buffer"),
        models.scatter,
    ),
    Defect(
        "function-suffix",
        "kernels call C's functions for floats (atanf, tanf), which OpenCL C has not",
        "function-suffix",
        "buffer",
        run(models.arctangent, "buffer"),
        models.arctangent,
    ),
    Defect(
        "local-memory",
        "a reduction that is padded for the next one is kept whole in local memory, more than a device has",
        "local-memory",
        "buffer",
        run(models.padded_convolution, "buffer"),
        models.padded_convolution,
    ),
    _in_textures(
        "unbound-block", "unbound-block", models.squeeze_and_excite, "blocks without threads become host code on device memory"
    ),
    _in_textures(
        "private-function",
        "private-function",
        models.private_function,
        "modules with several Relax functions do not compile for textures",
    ),
    _in_textures(
        "shared-function",
        "shared-function",
        models.two_concatenations,
        "a function called with tensors in different scopes is compiled for those of its last call",
    ),
    Defect(
        "plan-coefficient",
        "the memory plan reserves four times a texture's size",
        "plan-coefficient",
        "texture",
        plan(models.residual),
        models.residual,
    ),
    Defect(
        "branch-storage",
        "a branch uses a storage that only the other branch allocates: TVM's virtual machine crashes",
        "branch-storage",
        "buffer",
        run(models.branches, "buffer"),
    ),
    _in_textures(
        "packed-groups",
        "packed-convolution",
        models.uneven_groups,
        "grouped convolutions read channels of another group where a texel holds channels of two",
    ),
    _in_textures("depthwise", "packed-convolution", models.depthwise, "depthwise convolutions do not compile for textures"),
    _in_textures("half-convolution", "packed-convolution", models.half, "float16 convolutions do not compile for textures"),
    _in_textures(
        "transposed",
        "packed-transpose, plain-convolution",
        models.transposed,
        "transposed convolutions do not compile for textures",
    ),
    Defect(
        "inference-dropout",
        "Dropout does not compile for textures",
        "inference-dropout",
        "texture",
        lowers(models.dropout, "texture"),
        models.dropout,
    ),
    Defect(
        "function-names",
        "the kernel of a function that a Python lambda made has a name that OpenCL C does not know",
        "function-names",
        "buffer",
        run(models.unnamed_function, "buffer"),
        models.unnamed_function,
    ),
    _in_textures(
        "constant-rank",
        "constant-rank, plain-operators",
        models.one_element,
        "elementwise operators with a (1, 1, 1, 1) constant do not compile",
    ),
    _in_textures(
        "stacked-sum",
        "stacked-sum, plain-operators",
        models.stacked_sum,
        "sums of convolutions do not compile for textures as the ONNX operator Sum is imported",
    ),
    _in_textures(
        "channel-split",
        "plain-operators",
        models.split_channels,
        "a split of channels between convolutions keeps channel numbers where the axis counts texels",
    ),
    _in_textures(
        "packed-stack", "plain-operators", models.stacked_channels, "a stack of convolutions does not compile for textures"
    ),
    _in_textures(
        "packed-mask",
        "plain-operators, plain-convolution",
        models.masked,
        "a choice by a mask made of a convolution does not compile for textures",
    ),
    _in_textures(
        "instance-norm", "plain-operators", models.instance_norm, "group and instance normalisations do not compile for textures"
    ),
    _in_textures(
        "last-squeeze",
        "plain-operators",
        models.last_squeeze,
        "a squeeze of the last axis, counted from the end, writes outside a list of the layout conversion",
    ),
    _in_textures(
        "channel-broadcast",
        "plain-operators",
        models.one_channel,
        "an operand with one channel for all, beside a convolution, does not compile for textures",
    ),
    Defect(
        "own-texture",
        "functions that allocate a texture do not get through the lowering of host programs",
        "host programs are taken before TVM lowers them, and run here",
        "texture",
        own_texture.judge,
    ),
    Defect(
        "texture-flatten",
        "the flattening of textures fails on attention kernels, which hold none",
        "texture-flatten",
        "buffer",
        attention.compiles(attention.paged_prefill),
    ),
    Defect(
        "vector-store-address",
        "a vector store declares a variable inside its address",
        "vector-store-address",
        "buffer",
        attention.compiles(attention.sequence_prefill),
    ),
    Defect(
        "condition-range",
        "appending to a paged cache and attention over trees read behind the end of a buffer",
        "condition-range",
        "buffer",
        language_kernels.runs(language_kernels.append),
    ),
    Defect(
        "neighbour-read",
        "scans over a work-group (cumsum, sampling) read a neighbour's value while the neighbour writes it",
        "neighbour-read",
        "buffer",
        language_kernels.runs(language_kernels.cumsum),
    ),
    Defect(
        "group-update",
        "merging two results of attention, all work-items read a sum that each of them overwrites",
        "group-update",
        "buffer",
        language_kernels.runs(language_kernels.merge),
    ),
    Defect(
        "infinite-fill",
        "a tensor filled with an infinity, as of a causal mask, does not compile",
        "infinite-fill",
        "buffer",
        run(models.causal_mask, "buffer"),
        models.causal_mask,
    ),
    Defect(
        "sort-scan",
        "sort, argsort, topk, cumsum and cumprod are dispatched to kernels on other GPUs, and stay unchanged for Adreno",
        "sort-scan",
        "buffer",
        runs_since("0.26", models.largest_values, "buffer"),
        models.largest_values,
    ),
    Defect(
        "kernel-locals",
        "the kernels of scans take a pointer to private memory, which their host program allocates",
        "kernel-locals",
        "buffer",
        runs_since("0.26", models.exclusive_sums, "buffer"),
        models.exclusive_sums,
    ),
    Defect(
        "sampling",
        "multinomial_from_uniform is dispatched to a kernel on other GPUs, and stays unchanged for Adreno",
        "sampling",
        "buffer",
        runs_since("0.27", models.samples, "buffer"),
        models.samples,
    ),
    Defect(
        "parameter-types",
        "a function by hand whose sizes are int32 does not compile for textures",
        "parameter-types",
        "texture",
        runs_since("0.26", models.column_by_hand, "texture"),
        models.column_by_hand,
    ),
    Defect(
        "state-objects",
        "functions that give back or create a KV cache do not compile for textures",
        "state-objects",
        "texture",
        lowers_entries(models.state_beside_tensors, "texture"),
        models.state_beside_tensors,
    ),
)
"""In the order in which they are examined."""


LANGUAGE = frozenset(
    {"texture-flatten", "vector-store-address", "condition-range", "neighbour-read", "group-update", "sampling", "state-objects"}
)
"""Defects of the kernels of language models, which came with 0.27 or are looked for from 0.27 on."""

DISPATCHED = frozenset({"sort-scan", "kernel-locals", "parameter-types"})
"""Defects of sorts, scans and functions by hand, which are fixed and looked for from 0.26 on."""

ABSENT: dict[str, frozenset[str]] = {
    "0.25": frozenset({"texture-store", *LANGUAGE, *DISPATCHED}),
    "0.26": LANGUAGE,
    "0.27": frozenset({"average-pooling"}),
}
"""TVM series -> the defects it does not have, or that are not looked for in it. Identifies the series of a TVM whose version says
otherwise."""


def fixes_of(defect: Defect) -> tuple[str, ...]:
    """The fixes to leave out to see the defect; empty where no fix of the pipeline removes it."""
    names = tuple(name.strip() for name in defect.fix.split(","))
    return names if all(any(known.name == name for known in FIXES) for name in names) else ()
