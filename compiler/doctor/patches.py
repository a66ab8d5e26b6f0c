"""What TVM would change for each known defect; and scripts and causes where no module and no pass of this project tells them."""

from __future__ import annotations

PATCHES: dict[str, str] = {
    "pipeline-tuple": (
        "Return the triple (pass, `finalize_host_passes`, `finalize_device_passes`) for `adreno` in "
        "`tirx/compilation_pipeline.py`, as the default pipeline does."
    ),
    "texture-store": (
        "In VectorizeLoop, accept a call of `texture2d_store` although its type is void: vectorise its value, and keep its "
        "coordinates scalar."
    ),
    "pool-accumulator": (
        "In `dlight/adreno/pool.py`, compute the cache-write at the last spatial loop outside the vectorised one."
    ),
    "average-pooling": (
        "In `dlight/adreno/pool.py`, schedule the blocks that follow the pooling as a chain, not as one named block."
    ),
    "texel-race": (
        "End the pipeline with Adreno's fallback rule, and let it vectorise four lanes where an output has a texture scope."
    ),
    "reduction-epilogue": (
        "In `dlight/gpu/reduction.py`, tile the epilogue as the reduction was tiled, or keep its sums in shared memory."
    ),
    "blocked-row": (
        "In `_sch_inner_reduction` of `dlight/gpu/reduction.py`, put the loop of the work-items innermost, as "
        "`_sch_inner_spatial` does. `sch.reorder(s, c, tx)` alone is not enough: LowerThreadAllreduce fails then."
    ),
    "blocked-rest": (
        "In `dlight/gpu/reduction.py`, return None where `lower_factor` does not divide the axis that it splits; or keep the "
        "block's predicate on the store that LowerCrossThreadReduction makes."
    ),
    "mean-of-all": ("In `dlight/gpu/reduction.py`, return None for an epilogue without axes, so that GeneralReduction takes it."),
    "one-term-reduction": (
        "In ReverseComputeInline, leave a block with an init alone, or inline into its last statement only; or turn a block "
        "whose reduction axes have extent 1 into an elementwise one where NormalizePrimFunc takes it for one."
    ),
    "infinite-fill": "In `topi/tensor.py`, look for `float` in `str(dtype)`: `dtype` is a PrimType where Relax calls `full`.",
    "own-threads": (
        "In `dlight/base/transform.py`, leave a function alone that binds threads and has no root block, or mark the "
        "PrimFuncs of `topi/gpu/scatter_elements.py` with `tirx.is_scheduled`."
    ),
    "function-suffix": (
        "In `intrin_rule_opencl.cc`, register `DispatchPureExtern<Direct>` for acos, acosh, asin, asinh, atan, atan2, atanh, "
        "cosh, erf, hypot, log1p, sinh and tan, as for the functions that are there."
    ),
    "local-memory": (
        "In `dlight/gpu/general_reduction.py`, return None where the results of a work-group's reductions exceed the target's "
        "`max_shared_memory_per_block`, so that the fallback rule takes the function."
    ),
    "unbound-block": (
        "In the rules for convolutions, return None where a block of the function stays without threads, so that the "
        "fallback rule takes the function; fail the build for a device function with an unbound block."
    ),
    "private-function": "In AnnotateCustomMemoryScope, visit calls of `GlobalVar` without reading them as operators.",
    "shared-function": (
        "In SpecializePrimFuncBasedOnCallSite, make a copy of the PrimFunc for each set of scopes among its call sites."
    ),
    "plan-coefficient": (
        "In StaticPlanBlockMemory, do not multiply the size of a texture by the item size: it is in bytes already."
    ),
    "branch-storage": (
        "In StaticPlanBlockMemory, reuse a storage only where its `alloc_storage` dominates the use: keep the free tokens of a "
        "branch to that branch."
    ),
    "packed-groups": "In ConvertLayout for Adreno, keep NCHW for a grouped conv2d whose groups are not whole texels.",
    "depthwise": "In `legalize_ops/adreno/convolution.py`, lower a packed depthwise conv2d with its own compute.",
    "half-convolution": "In `legalize_ops/adreno/convolution.py`, pass `call.ty.dtype` as the output type.",
    "transposed": "Give `relax.nn.conv2d_transpose` an FRelaxInferLayout that answers with the layout it has.",
    "inference-dropout": (
        "In InferLayoutDropout, answer with one layout for each field of the tuple; and drop the operator at inference."
    ),
    "function-names": "In the code generator for OpenCL, make kernel names valid identifiers, as for C.",
    "constant-rank": ("In InferLayoutBinaryEwise, leave an operand of one element, and one of lower rank, in the layout it has."),
    "stacked-sum": (
        "In the ONNX importer, write Sum, Mean, Max and Min of several operands as operators of two; and give `relax.stack` "
        "an FRelaxInferLayout."
    ),
    "channel-split": (
        "In InferLayoutSplit, divide `indices_or_sections` by the factor of a packed axis, and keep the first layout where "
        "one of them is not a multiple of it."
    ),
    "packed-stack": "Give `relax.stack` an FRelaxInferLayout that answers with the initial layouts.",
    "packed-mask": "In AlterOpImpl and LegalizeOps of `layout_transform`, make the padding value of the type of the buffer.",
    "instance-norm": (
        "In InferLayoutGroupNorm and InferLayoutInstanceNorm, keep the initial layout where the axes would be packed."
    ),
    "last-squeeze": "In InferLayoutSqueeze, add the rank to negative axes before they index `axis_str`.",
    "channel-broadcast": "In InferLayoutBinaryEwise, keep the initial layout where only one operand has one channel.",
    "own-texture": (
        "In LowerTVMBuiltin, open a stack scope for the let statement of `tirx.nd_mem_alloc_with_scope`, as for a call."
    ),
    "texture-flatten": "In TextureFlatten, return a function without texture buffers unchanged.",
    "vector-store-address": (
        "In `codegen_opencl.cc`, print the address of a vector store before writing `vstoreN(`: a Let in it emits a declaration."
    ),
    "condition-range": (
        "In the Fallback schedule, put the predicate of the split loop around conditions that read buffers; in "
        "`_check_tree_order`, test `child_idx_in_tree < tree_order_len` first."
    ),
    "neighbour-read": (
        "In `gpu_2d_continuous_cumsum` and `parallel_sampling_from_prob`, read the neighbour's sum into a local buffer in a "
        "separate statement: ThreadSync then puts a barrier before the store."
    ),
    "sort-scan": (
        "In `relax/backend/adreno/pipeline.py`, run `DispatchSortScan` in `library_dispatch_passes`, as that of other "
        "GPUs does; give its functions the alignment and index type of tensors, and mark those of launches alone as scheduled."
    ),
    "kernel-locals": ("In `topi/gpu/scan.py`, allocate the local buffers of the sweeps behind `T.launch_thread`, not before it."),
    "parameter-types": "In SpecializePrimFuncBasedOnCallSite, compare sizes by their values, and leave the alignment alone.",
    "state-objects": (
        "In ConvertLayout, emit a tuple of a dataflow block also where an item is not a tensor; in AnnotateCustomMemoryScope, "
        "leave calls alone that are not a `call_tir`."
    ),
    "sampling": (
        "In `relax/backend/adreno/pipeline.py`, run `DispatchSampling` in `library_dispatch_passes`, as that of other "
        "GPUs does; give the sizes of 1 in `parallel_sampling_from_prob` the type int64, as tensors have."
    ),
    "group-update": (
        "In `_merge_state_inplace`, let the first work-item read `S` into shared memory, and the same one store it."
    ),
}
"""Defect -> the change."""

CAUSES: dict[str, str] = {
    "branch-storage": (
        "StaticPlanBlockMemory goes through both branches of an If in order, and lets the second reuse a storage that the first "
        "has allocated: where the second is taken, nothing was allocated."
    ),
    "pipeline-tuple": "`tvm.compile` unpacks a pipeline into three; the Adreno TIR pipeline is registered as a bare pass.",
    "own-texture": (
        "The lowering of host code makes the shape of a texture that a function allocates on the stack "
        "(`tvm_stack_make_shape`), which LowerTVMBuiltin takes only as an argument of a call."
    ),
    "channel-split": (
        "InferLayoutSplit keeps the channel numbers of `indices_or_sections` on an axis that, packed, counts texels of four "
        "channels: parts come out empty, or too large."
    ),
    "packed-stack": "`relax.stack` adds an axis for which a packed layout has no name.",
    "packed-mask": "The layout transform of a tensor of type bool is padded with a float.",
    "instance-norm": (
        "The packed layout is inferred for the normalisation, whose axes and per-channel operands then do not fit."
    ),
    "last-squeeze": "The axes of the squeeze index a string by axis, and -1 lies before it.",
    "channel-broadcast": "The operand with one channel is packed too: its four channels are then one and padding.",
    "average-pooling": "The rule for pooling does not know the block that divides by the window, where there is no padding.",
}
"""Defect -> its cause, where the file of its fix describes more than one defect."""

SCRIPTS: dict[str, str] = {
    "branch-storage": """
import numpy as np
import tvm
from tvm import relax
from tvm.script import relax as R

builder = relax.BlockBuilder()
condition, x = relax.Var("condition", R.Tensor((), "bool")), relax.Var("x", R.Tensor((16, 16), "float32"))


def chain(value):
    scores = relax.op.nn.softmax(value)
    return relax.op.matmul(relax.op.matmul(scores, value), relax.op.nn.softmax(value, axis=0))


with builder.function("main", [condition, x]):
    either = builder.emit(relax.If(condition, chain(x), chain(relax.op.matmul(x, x))))
    builder.emit_func_output(builder.emit(relax.op.add(chain(either), x)))

machine = relax.VirtualMachine(tvm.compile(builder.get(), target="llvm"), tvm.cpu())
for taken in (True, False):
    given = tvm.runtime.tensor(np.array(taken)), tvm.runtime.tensor(np.ones((16, 16), "float32"))
    print(taken, machine["main"](*given).numpy().sum())
""",
    "pipeline-tuple": """
import tvm
from tvm.script import ir as I, relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 8, 9, 7), "float32")) -> R.Tensor((1, 8, 9, 7), "float32"):
        with R.dataflow():
            y = R.nn.relu(x)
            R.output(y)
        return y


tvm.compile(Module, target=tvm.target.Target("qcom/adreno-opencl"), tir_pipeline="adreno")
""",
    "function-names": """
import tvm
from tvm import relax

builder = relax.BlockBuilder()
tensor = getattr(relax, "TensorType", None) or relax.TensorStructInfo
x = relax.Var("x", tensor((4, 8), "float32"))
with builder.function("main", [x]):
    with builder.dataflow():
        y = builder.emit_output(builder.call_te(lambda a: tvm.te.compute(a.shape, lambda i, j: a[i, j] * 2), x))
    builder.emit_func_output(y)
target = tvm.target.Target("qcom/adreno-opencl")
with target:
    print(relax.get_default_pipeline(target)(builder.get()).script())  # its function is called <lambda>, and so is the kernel
""",
    "own-texture": """
import tvm
from tvm.tirx import compilation_pipeline as pipelines
from tvm.tirx.build import codegen_build, split_host_device_mods

x = tvm.te.placeholder((1, 2, 9, 7, 4), name="x")
y = tvm.te.compute(x.shape, lambda *at: x(*at) * 2, name="y")
schedule = tvm.s_tir.Schedule(tvm.IRModule({"main": tvm.te.create_prim_func([x, y])}))
block = schedule.get_sblock("y")
for one in (schedule.cache_read(block, 0, "global.texture"), block):
    *outer, lane = schedule.get_loops(one)
    group, item = schedule.split(schedule.fuse(*outer), [None, 16])
    schedule.bind(group, "blockIdx.x")
    schedule.bind(item, "threadIdx.x")
    schedule.vectorize(lane)
target = tvm.target.Target("qcom/adreno-opencl-texture").with_host(tvm.target.Target("llvm"))
function = schedule.mod["main"].with_attr("global_symbol", "main")
module = tvm.tirx.transform.BindTarget(target)(tvm.IRModule({"main": function}))
with target:
    host, _ = split_host_device_mods(pipelines.get_default_tir_pipeline(target)(module))
    codegen_build(pipelines.finalize_host_passes()(host), target.host)
""",
    "texture-flatten": """
import tvm
from tvm.relax.frontend.nn.llm import _prefill_kernels as kernels

target = tvm.target.Target("qcom/adreno-opencl").with_host(tvm.target.Target("llvm"))
function = kernels._attention_prefill(2, 4, 64, "float16", False, {}, target)
module = tvm.tirx.transform.BindTarget(target)(tvm.IRModule({"attention": function.with_attr("global_symbol", "attention")}))
tvm.s_tir.backend.adreno.transform.TextureFlatten()(module)  # it holds no texture
""",
    "vector-store-address": """
import tvm
from tvm.relax.frontend.nn.llm import _prefill_kernels as kernels
from tvm.tirx import compilation_pipeline as pipelines
from tvm.tirx.build import split_host_device_mods

target = tvm.target.Target("qcom/adreno-opencl").with_host(tvm.target.Target("llvm"))
function = kernels._attention_sequence_prefill(2, 4, 64, "float16", target)
module = tvm.tirx.transform.BindTarget(target)(tvm.IRModule({"attention": function.with_attr("global_symbol", "attention")}))
with target:
    _, by_target = split_host_device_mods(pipelines.get_default_tir_pipeline(target)(module))
    for device, kernels in by_target.items():
        kernels = pipelines.finalize_device_passes()(kernels)
        text = tvm.get_global_func("target.build.opencl")(kernels, device).inspect_source()
print([line for line in text.splitlines() if "vstore" in line and " rmod" in line])  # a declaration inside the call
""",
    "condition-range": """
import tvm
from tvm.relax.frontend.nn.llm import _page_kernels as kernels
from tvm.tirx import compilation_pipeline as pipelines
from tvm.tirx.build import split_host_device_mods

target = tvm.target.Target("qcom/adreno-opencl").with_host(tvm.target.Target("llvm"))
function = kernels._kv_cache_transpose_append(1, 64, "float32")
module = tvm.tirx.transform.BindTarget(target)(tvm.IRModule({"append": function.with_attr("global_symbol", "append")}))
with target:
    module = tvm.s_tir.dlight.ApplyDefaultSchedule(tvm.s_tir.dlight.gpu.Fallback())(module)
    _, by_target = split_host_device_mods(pipelines.get_default_tir_pipeline(target)(module))
    for device, kernels in by_target.items():
        print(tvm.get_global_func("target.build.opencl")(pipelines.finalize_device_passes()(kernels), device).inspect_source())
# position_map_ptr is read before the index is compared with ntoken: with 3 tokens of 64 elements, for a fourth
""",
    "neighbour-read": """
import tvm
from tvm.relax.backend.gpu_generic.cumsum import gpu_2d_continuous_cumsum
from tvm.tirx import compilation_pipeline as pipelines
from tvm.tirx.build import split_host_device_mods

target = tvm.target.Target("qcom/adreno-opencl").with_host(tvm.target.Target("llvm"))
function = gpu_2d_continuous_cumsum(in_dtype="float32")
module = tvm.tirx.transform.BindTarget(target)(tvm.IRModule({"cumsum": function.with_attr("global_symbol", "cumsum")}))
with target:
    _, by_target = split_host_device_mods(pipelines.get_default_tir_pipeline(target)(module))
    for device, kernels in by_target.items():
        print(tvm.get_global_func("target.build.opencl")(pipelines.finalize_device_passes()(kernels), device).inspect_source())
# vstore4(vload4(0, shared_buf_ptr + a) + shared_buf_ptr[b], 0, shared_buf_ptr + a): no barrier parts the read of b
""",
    "group-update": """
import tvm
from tvm.relax.frontend.nn.llm import _decode_kernels as kernels
from tvm.tirx import compilation_pipeline as pipelines
from tvm.tirx.build import split_host_device_mods

target = tvm.target.Target("qcom/adreno-opencl").with_host(tvm.target.Target("llvm"))
function = kernels._merge_state_inplace(1, 64, "float32", target)
module = tvm.tirx.transform.BindTarget(target)(tvm.IRModule({"merge": function.with_attr("global_symbol", "merge")}))
with target:
    _, by_target = split_host_device_mods(pipelines.get_default_tir_pipeline(target)(module))
    for device, kernels in by_target.items():
        print(tvm.get_global_func("target.build.opencl")(pipelines.finalize_device_passes()(kernels), device).inspect_source())
# S_ptr is read by 16 work-items, and written by each of them, with no barrier between
""",
    "kernel-locals": """
import tvm
from tvm import relax
from tvm.tirx import compilation_pipeline as pipelines
from tvm.tirx.build import split_host_device_mods

x = relax.Var("x", relax.TensorType((3, 40), "float32"))
builder = relax.BlockBuilder()
with builder.function("main", [x]):
    with builder.dataflow():
        y = builder.emit_output(relax.op.cumsum(x, axis=1, exclusive=True))
    builder.emit_func_output(y)
target = tvm.target.Target("qcom/adreno-opencl").with_host(tvm.target.Target("llvm"))
with target:
    module = relax.backend.DispatchSortScan()(builder.get())
    module = tvm.IRModule({"cumsum": module["cumsum"].with_attr("global_symbol", "cumsum")})
    module = tvm.tirx.transform.BindTarget(target)(module)
    _, by_target = split_host_device_mods(pipelines.get_default_tir_pipeline(target)(module))
    for device, kernels in by_target.items():
        for _, kernel in pipelines.finalize_device_passes()(kernels).functions_items():
            print(kernel.script().partition("\\n\\n")[2][:400])  # a parameter of scope "local"
""",
}
"""Defect -> its script, where no Relax module in TVMScript shows it."""
