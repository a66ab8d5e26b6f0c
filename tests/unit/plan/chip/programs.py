"""Random programs of kernels and OpenCL ML subgraphs on buffers, and what they compute, in NumPy."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

import handmade
import numpy as np

from adreno_sim.compiler.artifact import host_function as h
from adreno_sim.compiler.artifact import vm_function as v
from adreno_sim.compiler.artifact.model import CompiledModel, GraphCode, KernelCode, KernelParamInfo, TensorInfo, TupleInfo
from adreno_sim.mlops.graph import Entry, Graph, Node

SOURCE = """
__kernel void plus(__global float* restrict y, __global const float* restrict a, __global const float* restrict b, int n) {
  int i = get_global_id(0);
  if (i < n) y[i] = a[i] * 0.5f + b[i];
}
"""
PARAMS = tuple(
    KernelParamInfo(name, "buffer", "float32", access, "global")
    for name, access in zip("yab", ("write", "read", "read"), strict=True)
)
PLUS = KernelCode("plus", SOURCE, (*PARAMS, KernelParamInfo("n", "scalar", "int32")))
ROWS = (64, 96, 200, 320)
"""Sizes of tensors are rows of 4 floats."""


def _shape(rows: int) -> tuple[int, ...]:
    return rows // 2, 2, 4  # a texture takes three dimensions


def _host(rows: int) -> h.HostFunction:
    dims = tuple(map(handmade.const, _shape(rows)))
    params = tuple(h.BufferParam(n, dims, "float32", access=a) for n, a in (("a", "read"), ("b", "read"), ("y", "write")))
    groups = (handmade.const(-(-rows * 4 // 64)), handmade.ONE, handmade.ONE)
    refs = tuple(h.BufferRef(name) for name in "yab")
    launch = h.Launch(
        "plus", (*refs, handmade.const(rows * 4, "int32")), groups, (handmade.const(64), handmade.ONE, handmade.ONE)
    )
    return h.HostFunction(f"plus_{rows}", params, (launch,), golden=f"plus_{rows}")


def _graph(rng: random.Random, shape: tuple[int, ...]) -> Graph:
    """Sums, maxima and relus of tensors of one shape."""
    nodes = [Node("input", f"x{i}", (shape,), ("float32",)) for i in range(rng.randint(1, 2))]
    for _ in range(rng.randint(1, 7)):
        name = rng.choice(["relax.add", "relax.maximum", "relax.nn.relu"])
        recent = range(max(0, len(nodes) - 4), len(nodes))
        inputs = [rng.choice(recent) for _ in range(1 if name == "relax.nn.relu" else 2)]
        nodes.append(Node("kernel", f"openclml.{name}", (shape,), ("float32",), tuple(map(Entry, inputs))))
    heads = sorted({len(nodes) - 1, rng.randrange(max(1, len(nodes) - 3), len(nodes))})
    return Graph(tuple(nodes), tuple(map(Entry, heads)))


@dataclass
class Program:
    """A model, and its results for an input."""

    model: CompiledModel
    rows: int

    def input(self) -> np.ndarray:
        return np.random.default_rng(self.rows).uniform(-1, 1, _shape(self.rows)).astype("float32")


def evaluate(model: CompiledModel, x: np.ndarray) -> list[np.ndarray]:
    """What the program computes, by its instructions, in arrays that share nothing."""
    values: dict[str, np.ndarray] = {"x": x}
    for i in model.functions["main"].body:
        if isinstance(i, v.CallHost):
            names = [operand.name for operand in i.args]
            graph = model.host_functions[i.function].graphs()
            if graph:
                parsed = _GRAPHS[i.function]
                found = _run(parsed, [values[name] for name in names[: len(parsed.of("input"))]])
                values |= dict(zip(names[len(parsed.of("input")) :], found, strict=True))
            else:
                a, b, y = names
                values[y] = values[a] * np.float32(0.5) + values[b]
        elif isinstance(i, v.ToDevice):
            values[i.dst] = values[i.src.name]
        elif isinstance(i, v.MakeTuple):
            return [values[item.name] for item in i.items]
    raise AssertionError("a program without a result")


_GRAPHS: dict[str, Graph] = {}


def _run(graph: Graph, given: list[np.ndarray]) -> list[np.ndarray]:
    values: list[np.ndarray] = []
    left = iter(given)
    for node in graph.nodes:
        args = [values[entry.node] for entry in node.inputs]
        if node.op == "input":
            values.append(next(left))
        elif node.name.endswith("relu"):
            values.append(np.maximum(args[0], 0))
        else:
            values.append(np.maximum(*args) if node.name.endswith("maximum") else args[0] + args[1])
    return [values[head.node] for head in graph.heads]


def make(seed: int) -> Program:
    """The program of a seed: a chain with branches of kernels and subgraphs, copies to other scopes between some of them."""
    rng = random.Random(seed)
    rows = rng.choice(ROWS)
    shape = _shape(rows)
    hosts, graphs, body = [_host(rows)], {}, []
    live, made = ["x"], 0

    def allocate() -> str:
        nonlocal made
        made += 1
        name = f"t{made}"
        nbytes = v.ShapeLiteral((rows * 16,))
        body.append(v.AllocStorage(f"s{made}", nbytes, "global", "float32"))
        body.append(v.AllocTensor(name, f"s{made}", 0, v.ShapeLiteral(shape), "float32", "global"))
        return name

    for number in range(rng.randint(3, 14)):
        recent = live[-rng.randint(1, 4) :]
        kind = rng.random()
        if kind < 0.2:
            graph = _graph(rng, shape)
            name = f"clml_{seed}_{number}"
            _GRAPHS[name] = graph
            args = [rng.choice(recent) for _ in graph.of("input")]
            outputs = [allocate() for _ in graph.heads]
            dims = tuple(handmade.const(size) for size in shape)
            names = [f"i{n}" for n in range(len(args))] + [f"o{n}" for n in range(len(outputs))]
            access = ["read"] * len(args) + ["write"] * len(outputs)
            params = tuple(h.BufferParam(n, dims, "float32", access=a) for n, a in zip(names, access, strict=True))
            refs = [h.BufferRef(n) for n in names]
            run = h.RunGraph(name, tuple(refs[: len(args)]), tuple(refs[len(args) :]))
            hosts.append(h.HostFunction(name, params, (run,), golden=name))
            graphs[name] = GraphCode(name, graph.to_json(), {})
            body.append(v.CallHost(name, tuple(map(v.Reg, (*args, *outputs)))))
            live += outputs
        elif kind < 0.3:
            made += 1
            body.append(v.ToDevice(f"t{made}", v.Reg(rng.choice(recent)), "global.texture"))
            body.append(v.ToDevice(f"t{made}_back", v.Reg(f"t{made}"), "global"))
            live.append(f"t{made}_back")
        else:
            a, b = rng.choice(recent), rng.choice(recent)
            y = allocate()
            body.append(v.CallHost(f"plus_{rows}", (v.Reg(a), v.Reg(b), v.Reg(y))))
            live.append(y)
    results = [live[-1], *rng.sample(live[1:], k=min(len(live) - 1, rng.randint(0, 2)))]
    body += [v.MakeTuple("out", tuple(map(v.Reg, results))), v.Return(v.Reg("out"))]
    empty = handmade.model(
        [TensorInfo("x", shape, "float32")],
        TupleInfo(tuple(TensorInfo(f"r{n}", shape, "float32") for n in range(len(results)))),
        [host for host in hosts if not host.launches()],
        body,
    )
    functions = {host.name: host for host in hosts}
    return Program(replace(empty, kernels={"plus": PLUS}, host_functions=functions, graphs=graphs), rows)
