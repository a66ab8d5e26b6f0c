"""Small compiled models written by hand, so that the VM, bundles and plans are tested without TVM."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from adreno_sim.compiler.artifact import host_function as h
from adreno_sim.compiler.artifact import vm_function as v
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
        functions={"main": v.VMFunction("main", tuple(info.name for info in inputs), tuple(body))},
        constants=constants or {},
    )


def entry(match, value=0):
    return v.ShapeEntry(match, value)


def symbolic() -> CompiledModel:
    """(x + 1 + 1 flattened, x + 1) for x of (n, 4)."""
    x, shape, flat = v.Reg("x"), v.Reg("shape"), v.Reg("flat_shape")
    body = [
        v.AllocHeap("heap", 3),
        v.CheckTensor(x, 2, "float32", "main, param[0] (x)"),
        v.MatchShape(x, "heap", (entry("store", 0), entry("const", 4)), "main, param[0] (x)"),
        v.CallHost("sizes", (v.Reg("heap"),)),
        v.MakeShape("bytes", "heap", (entry("slot", 1),)),
        v.MakeShape("shape", "heap", (entry("slot", 0), entry("const", 4))),
        v.MakeShape("flat_shape", "heap", (entry("slot", 2),)),
        v.AllocStorage("s0", v.Reg("bytes"), "global", "uint8"),
        v.AllocTensor("t0", "s0", 0, shape, "float32", "global"),
        v.Kill("s0"),
        v.CallHost("add_one", (x, v.Reg("t0"))),
        v.AllocStorage("s1", v.Reg("bytes"), "global", "uint8"),
        v.AllocTensor("t1", "s1", 0, shape, "float32", "global"),
        v.Kill("s1"),
        v.CallHost("add_one", (v.Reg("t0"), v.Reg("t1"))),
        v.Reshape("flat", v.Reg("t1"), flat),
        v.Kill("t1"),
        v.MakeTuple("out", (v.Reg("flat"), v.Reg("t0"))),
        v.Kill("flat"),
        v.Kill("t0"),
        v.Return(v.Reg("out")),
    ]
    results = TupleInfo((TensorInfo("output_0", ("n * 4",), "float32"), TensorInfo("output_1", ("n", 4), "float32")))
    return model([TensorInfo("x", ("n", 4), "float32")], results, [SIZES, ADD_ONE_HOST], body)


def texture() -> CompiledModel:
    """2 (2 x) through textures; one storage serves a texture and then the result's buffer bytes."""
    shape = v.ShapeLiteral((2, 3, 5, 4))
    body = [
        v.ToDevice("xt", v.Reg("x"), "global.texture"),
        v.AllocStorage("s0", v.ShapeLiteral((1024,)), "global", "uint8"),
        v.AllocTensor("t0", "s0", 0, shape, "float32", "global.texture"),
        v.CallHost("twice", (v.Reg("xt"), v.Reg("t0"))),
        v.Kill("xt"),
        v.AllocStorage("s1", v.ShapeLiteral((1024,)), "global", "uint8"),
        v.AllocTensor("t1", "s1", 0, shape, "float32", "global.texture"),
        v.Kill("s1"),
        v.CallHost("twice", (v.Reg("t0"), v.Reg("t1"))),
        v.Kill("t0"),
        v.AllocTensor("t2", "s0", 0, shape, "float32", "global.texture"),
        v.Kill("s0"),
        v.CallHost("twice", (v.Reg("t1"), v.Reg("t2"))),
        v.Kill("t1"),
        v.ToDevice("out", v.Reg("t2"), "global"),
        v.Kill("t2"),
        v.Return(v.Reg("out")),
    ]
    info = TensorInfo("x", (2, 3, 5, 4), "float32")
    return model([info], TensorInfo("output", (2, 3, 5, 4), "float32"), [TWICE_HOST], body)


def branch() -> CompiledModel:
    """x + 1 where c, else the constant."""
    shape = v.ShapeLiteral((2, 4))
    then = (
        v.AllocStorage("s", v.ShapeLiteral((32,)), "global", "uint8"),
        v.AllocTensor("t", "s", 0, shape, "float32", "global"),
        v.Kill("s"),
        v.CallHost("add_one", (v.Reg("x"), v.Reg("t"))),
    )
    body = [v.Branch("y", v.Reg("c"), then, v.Reg("t"), (), v.ConstRef("k")), v.Return(v.Reg("y"))]
    inputs = [TensorInfo("c", (), "bool"), TensorInfo("x", (2, 4), "float32")]
    constants = {"k": np.full((2, 4), 7, np.float32)}
    return model(inputs, TensorInfo("output", (2, 4), "float32"), [ADD_ONE_HOST], body, constants)


def branch_storages(shared: bool) -> CompiledModel:
    """x + 1 on either way, then + 1 again. shared: one storage for all three, which only the first way allocates."""
    shape, x, y = v.ShapeLiteral((2, 4)), v.Reg("x"), v.Reg("y")

    def way(name: str, source: v.Reg, storage: str, allocates: bool) -> tuple[v.Instruction, ...]:
        made = (v.AllocStorage(storage, v.ShapeLiteral((32,)), "global", "uint8"),) if allocates else ()
        tensor = v.AllocTensor(name, storage, 0, shape, "float32", "global")
        return (*made, tensor, v.CallHost("add_one", (source, v.Reg(name))))

    others = ("s", False) if shared else ("s1", True)
    branch = v.Branch("y", v.Reg("c"), way("t", x, "s", True), v.Reg("t"), way("u", x, *others), v.Reg("u"))
    inputs = [TensorInfo("c", (), "bool"), TensorInfo("x", (2, 4), "float32")]
    last = way("z", y, "s", False) if shared else way("z", y, "s2", True)
    return model(inputs, TensorInfo("output", (2, 4), "float32"), [ADD_ONE_HOST], [branch, *last, v.Return(v.Reg("z"))])


def calls() -> CompiledModel:
    """((x + 1 + 1) + 1) + 1 + 1 by a function that is called twice and adds 1 twice itself, through a third."""
    shape = v.ShapeLiteral((2, 4))

    def make(number: int) -> tuple[v.Instruction, ...]:
        return (
            v.AllocStorage(f"s{number}", v.ShapeLiteral((32,)), "global", "uint8"),
            v.AllocTensor(f"t{number}", f"s{number}", 0, shape, "float32", "global"),
            v.Kill(f"s{number}"),
        )

    t0, t1, argument = v.Reg("t0"), v.Reg("t1"), v.Reg("v")
    one = (*make(0), v.CallHost("add_one", (argument, t0)), *make(1), v.CallHost("add_one", (t0, t1)), v.Kill("t0"), v.Return(t1))
    two = (v.CallVM("u", "twice_one", (argument,)), v.Return(v.Reg("u")))
    main = (
        v.CallVM("a", "through", (v.Reg("x"),)),
        *make(0),
        v.CallHost("add_one", (v.Reg("a"), t0)),
        v.Kill("a"),
        v.CallVM("b", "twice_one", (t0,)),
        v.Kill("t0"),
        v.Return(v.Reg("b")),
    )
    info = TensorInfo("x", (2, 4), "float32")
    base = model([info], TensorInfo("output", (2, 4), "float32"), [ADD_ONE_HOST], main)
    others = {"twice_one": v.VMFunction("twice_one", ("v",), one), "through": v.VMFunction("through", ("v",), two)}
    return replace(base, functions={**base.functions, **others})
