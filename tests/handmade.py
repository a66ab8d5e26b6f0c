"""Small compiled models written by hand, so that the VM, bundles and plans are tested without TVM."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from adreno_sim.compiler.artifact import hostir as h
from adreno_sim.compiler.artifact.model import CompiledModel, KernelCode, KernelParamInfo, TensorInfo, TupleInfo

ADD_ONE = """
__kernel void add_one(__global float* restrict y, __global const float* restrict x, int n) {
  int i = get_global_id(0);
  if (i < n) y[i] = x[i] + 1.0f;
}
"""

DOUBLE = """
__kernel void twice(__write_only image2d_array_t y, __read_only image2d_array_t x) {
  const sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
  int4 at = (int4)(get_global_id(0), get_global_id(1), get_global_id(2), 0);
  write_imagef(y, at, read_imagef(x, s, at) * 2.0f);
}
"""

KERNELS = {
    "add_one": KernelCode(
        "add_one",
        ADD_ONE,
        (
            KernelParamInfo("y", "buffer", "float32", "write", "global"),
            KernelParamInfo("x", "buffer", "float32", "read", "global"),
            KernelParamInfo("n", "scalar", "int32"),
        ),
    ),
    "twice": KernelCode(
        "twice",
        DOUBLE,
        (
            KernelParamInfo("y", "image", "float32", "write", "global.texture"),
            KernelParamInfo("x", "image", "float32", "read", "global.texture"),
        ),
    ),
}


def const(value, dtype="int64"):
    return h.Const(value, dtype)


def binary(op, a, b):
    return h.Binary(op, a, b, "int64")


ONE = const(1)
N = h.Var("n")

ADD_ONE_HOST = h.HostFunction(
    "add_one",
    (h.BufferParam("x", (N, const(4)), "float32", access="read"), h.BufferParam("y", (N, const(4)), "float32", access="write")),
    (
        h.Let("count", binary("mul", N, const(4))),
        h.Launch(
            "add_one",
            (h.BufferRef("y"), h.BufferRef("x"), h.Var("count")),
            (binary("floordiv", binary("add", h.Var("count"), const(7)), const(8)), ONE, ONE),
            (const(8), ONE, ONE),
        ),
    ),
    golden="add_one",
)
"""y = x + 1 for (n, 4) buffers."""

TWICE_HOST = h.HostFunction(
    "twice",
    tuple(
        h.BufferParam(name, tuple(const(d) for d in (2, 3, 5, 4)), "float32", "global.texture", access)
        for name, access in (("x", "read"), ("y", "write"))
    ),
    (h.Launch("twice", (h.BufferRef("y"), h.BufferRef("x")), (const(5), const(3), const(2)), (ONE, ONE, ONE)),),
    golden="twice",
)
"""y = 2 x for (2, 3, 5, 4) textures: 5 wide, 3 high, 2 layers."""

SIZES = h.HostFunction(
    "sizes",
    (h.BufferParam("H", (const(3),), "int64"),),
    (
        h.Store("H", const(1), binary("mul", h.Load("H", const(0)), const(16))),
        h.Store("H", const(2), binary("mul", h.Load("H", const(0)), const(4))),
    ),
    on_host=True,
)
"""Slot 1: bytes of (n, 4) floats; slot 2: their number."""


def model(inputs, results, hosts, body, constants=None):
    """A model with `body` as main; kernels are those that `hosts` launch."""
    used = {launch.kernel for host in hosts for launch in host.launches()}
    return CompiledModel(
        name="handmade",
        target="qcom/adreno-opencl-texture",
        tvm_version="none",
        pipeline="fixed",
        fixes=(),
        inputs=tuple(inputs),
        results=results,
        kernels={name: KERNELS[name] for name in sorted(used)},
        host_functions={host.name: host for host in hosts},
        functions={"main": h.VMFunction("main", tuple(info.name for info in inputs), tuple(body))},
        constants=constants or {},
    )


def entry(match, value=0):
    return h.ShapeEntry(match, value)


def symbolic() -> CompiledModel:
    """(x + 1 + 1 flattened, x + 1) for x of (n, 4)."""
    x, shape, flat = h.Reg("x"), h.Reg("shape"), h.Reg("flat_shape")
    body = [
        h.AllocHeap("heap", 3),
        h.CheckTensor(x, 2, "float32", "main, param[0] (x)"),
        h.MatchShape(x, "heap", (entry("store", 0), entry("const", 4)), "main, param[0] (x)"),
        h.CallHost("sizes", (h.Reg("heap"),)),
        h.MakeShape("bytes", "heap", (entry("slot", 1),)),
        h.MakeShape("shape", "heap", (entry("slot", 0), entry("const", 4))),
        h.MakeShape("flat_shape", "heap", (entry("slot", 2),)),
        h.AllocStorage("s0", h.Reg("bytes"), "global", "uint8"),
        h.AllocTensor("t0", "s0", 0, shape, "float32", "global"),
        h.Kill("s0"),
        h.CallHost("add_one", (x, h.Reg("t0"))),
        h.AllocStorage("s1", h.Reg("bytes"), "global", "uint8"),
        h.AllocTensor("t1", "s1", 0, shape, "float32", "global"),
        h.Kill("s1"),
        h.CallHost("add_one", (h.Reg("t0"), h.Reg("t1"))),
        h.Reshape("flat", h.Reg("t1"), flat),
        h.Kill("t1"),
        h.MakeTuple("out", (h.Reg("flat"), h.Reg("t0"))),
        h.Kill("flat"),
        h.Kill("t0"),
        h.Return(h.Reg("out")),
    ]
    results = TupleInfo((TensorInfo("output_0", ("n * 4",), "float32"), TensorInfo("output_1", ("n", 4), "float32")))
    return model([TensorInfo("x", ("n", 4), "float32")], results, [SIZES, ADD_ONE_HOST], body)


def texture() -> CompiledModel:
    """2 (2 x) through textures; one storage serves a texture and then the result's buffer bytes."""
    shape = h.ShapeLiteral((2, 3, 5, 4))
    body = [
        h.ToDevice("xt", h.Reg("x"), "global.texture"),
        h.AllocStorage("s0", h.ShapeLiteral((1024,)), "global", "uint8"),
        h.AllocTensor("t0", "s0", 0, shape, "float32", "global.texture"),
        h.CallHost("twice", (h.Reg("xt"), h.Reg("t0"))),
        h.Kill("xt"),
        h.AllocStorage("s1", h.ShapeLiteral((1024,)), "global", "uint8"),
        h.AllocTensor("t1", "s1", 0, shape, "float32", "global.texture"),
        h.Kill("s1"),
        h.CallHost("twice", (h.Reg("t0"), h.Reg("t1"))),
        h.Kill("t0"),
        h.AllocTensor("t2", "s0", 0, shape, "float32", "global.texture"),
        h.Kill("s0"),
        h.CallHost("twice", (h.Reg("t1"), h.Reg("t2"))),
        h.Kill("t1"),
        h.ToDevice("out", h.Reg("t2"), "global"),
        h.Kill("t2"),
        h.Return(h.Reg("out")),
    ]
    info = TensorInfo("x", (2, 3, 5, 4), "float32")
    return model([info], TensorInfo("output", (2, 3, 5, 4), "float32"), [TWICE_HOST], body)


def branch() -> CompiledModel:
    """x + 1 where c, else the constant."""
    shape = h.ShapeLiteral((2, 4))
    then = (
        h.AllocStorage("s", h.ShapeLiteral((32,)), "global", "uint8"),
        h.AllocTensor("t", "s", 0, shape, "float32", "global"),
        h.Kill("s"),
        h.CallHost("add_one", (h.Reg("x"), h.Reg("t"))),
    )
    body = [h.Branch("y", h.Reg("c"), then, h.Reg("t"), (), h.ConstRef("k")), h.Return(h.Reg("y"))]
    inputs = [TensorInfo("c", (), "bool"), TensorInfo("x", (2, 4), "float32")]
    constants = {"k": np.full((2, 4), 7, np.float32)}
    return model(inputs, TensorInfo("output", (2, 4), "float32"), [ADD_ONE_HOST], body, constants)


def calls() -> CompiledModel:
    """((x + 1 + 1) + 1) + 1 + 1 by a function that is called twice and adds 1 twice itself, through a third."""
    shape = h.ShapeLiteral((2, 4))

    def make(number: int) -> tuple[h.Instruction, ...]:
        return (
            h.AllocStorage(f"s{number}", h.ShapeLiteral((32,)), "global", "uint8"),
            h.AllocTensor(f"t{number}", f"s{number}", 0, shape, "float32", "global"),
            h.Kill(f"s{number}"),
        )

    t0, t1, v = h.Reg("t0"), h.Reg("t1"), h.Reg("v")
    one = (*make(0), h.CallHost("add_one", (v, t0)), *make(1), h.CallHost("add_one", (t0, t1)), h.Kill("t0"), h.Return(t1))
    two = (h.CallVM("u", "twice_one", (v,)), h.Return(h.Reg("u")))
    main = (
        h.CallVM("a", "through", (h.Reg("x"),)),
        *make(0),
        h.CallHost("add_one", (h.Reg("a"), t0)),
        h.Kill("a"),
        h.CallVM("b", "twice_one", (t0,)),
        h.Kill("t0"),
        h.Return(h.Reg("b")),
    )
    info = TensorInfo("x", (2, 4), "float32")
    base = model([info], TensorInfo("output", (2, 4), "float32"), [ADD_ONE_HOST], main)
    others = {"twice_one": h.VMFunction("twice_one", ("v",), one), "through": h.VMFunction("through", ("v",), two)}
    return replace(base, functions={**base.functions, **others})
