"""A texture that a function allocates for itself, as `cache_read` to a texture makes it: TVM has no host program for one."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.errors import AdrenoSimError
from ...device.protocol import Device
from ..lower.pipeline import reason, tir_triple
from ..lower.targets import make_target
from ..tvm_bridge.versions import import_tvm

SHAPE = (2, 9, 7, 4)
"""Channel blocks, height, width, lanes: texels of an image array."""


def make_scheduled(scope: str = "global.texture") -> Any:
    """A PrimFunc that copies its input to separate memory, and doubles what it reads there; one work-item per texel."""
    tvm = import_tvm()
    data = tvm.te.placeholder((1, *SHAPE), name="x")
    twice = tvm.te.compute((1, *SHAPE), lambda *at: data(*at) * tvm.tirx.const(2.0, "float32"), name="y")
    schedule = tvm.s_tir.Schedule(tvm.IRModule({"main": tvm.te.create_prim_func([data, twice])}))
    block = schedule.get_sblock("y")
    for one in (schedule.cache_read(block, 0, scope), block):
        *outer, lane = schedule.get_loops(one)
        texels = schedule.fuse(*outer)
        group, item = schedule.split(texels, [None, 16])
        schedule.bind(group, "blockIdx.x")
        schedule.bind(item, "threadIdx.x")
        schedule.vectorize(lane)
    return schedule.mod["main"]


def judge(device: Device, pipeline: str, _without: tuple[str, ...]) -> str:
    """Whether TVM's own passes lower the host program; whether this project's, which is taken before them, gives the values."""
    return lowered_by_tvm(make_scheduled()) if pipeline == "stock" else _run(device)


def lowered_by_tvm(function: Any) -> str:
    """Whether TVM's passes lower a scheduled function, and make machine code of its host program."""
    tvm = import_tvm()
    from tvm.tirx.build import codegen_build, split_host_device_mods

    target = make_target("texture").with_host(tvm.target.Target("llvm"))
    passes, host_passes, _ = tir_triple(target)
    module = tvm.tirx.transform.BindTarget(target)(tvm.IRModule({"main": function.with_attr("global_symbol", "main")}))
    try:
        with target:
            host, _ = split_host_device_mods(passes(module))
            codegen_build(host_passes()(host), target.host)
    except RuntimeError as error:  # from which TVM derives its own
        return f"does not compile ({reason(error)})"
    return "ok"


def _run(device: Device) -> str:
    from ..run.vm import run
    from ..schedule_search.candidate import compile_function

    try:
        compiled = compile_function(make_scheduled(), limits=device.info.limits).compiled
        x = np.random.default_rng(1).standard_normal((1, *SHAPE), np.float32)
        (got,) = run(compiled, [x], device)
    except AdrenoSimError as error:
        return str(error).splitlines()[0]
    return "ok" if np.array_equal(got, 2 * x) else "wrong-value in task"
