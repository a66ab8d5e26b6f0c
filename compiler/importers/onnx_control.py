"""If and Loop of ONNX in line: a condition or trip count that is known is followed, a branch that data chooses is computed too.

Operators of ONNX have no side effects, so that an If whose branches give tensors of one shape is a Where of both.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
from onnx import GraphProto, ModelProto, NodeProto, helper, numpy_helper

from ...base.errors import UnsupportedError
from ...golden.onnx_model import LargeArrays
from .onnx_names import node_label

MOST_STEPS = 128
"""Steps that are unrolled at most, those of all loops or of all recurrent layers together: each becomes operators of its own."""


def rename_values(node: NodeProto, names: Mapping[str, str]) -> None:
    """Give values other names in a node, also where its subgraphs use values from outside."""
    for i, name in enumerate(node.input):
        node.input[i] = names.get(name, name)
    for i, name in enumerate(node.output):
        node.output[i] = names.get(name, name)
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            for inner in attribute.g.node:
                rename_values(inner, names)
            for value in attribute.g.output:
                value.name = names.get(value.name, value.name)


def inline_control_flow(model: ModelProto, arrays: LargeArrays, chosen: dict[str, str]) -> bool:
    """Put the outermost If and Loop nodes in line, in place; False if there is none.

    What can be folded must have been folded. chosen: gets the outputs of If nodes that data decides, and the node of each.
    UnsupportedError for a Loop whose length is not known.
    """
    if not any(node.op_type in ("If", "Loop") for node in model.graph.node):
        return False
    inliner = _Inliner(model, arrays, chosen)
    nodes = [NodeProto.FromString(node.SerializeToString()) for node in model.graph.node]
    del model.graph.node[:]
    known = [node for node in nodes if node.op_type == "If" and node.input[0] in inliner.constants]
    for node in nodes:
        if node.op_type == "If" and (not known or node in known):
            inliner.add_branches(node)
        elif node.op_type == "Loop" and not known:
            inliner.add_steps(node)
        else:
            model.graph.node.append(node)
    return True


class _Inliner:
    """Writes the nodes of subgraphs to the end of a model's graph."""

    def __init__(self, model: ModelProto, arrays: LargeArrays, chosen: dict[str, str]):
        self._arrays = arrays
        self._chosen = chosen
        self._graph = model.graph
        self._opset = next(entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx"))
        self.constants = {tensor.name: tensor for tensor in model.graph.initializer}
        self._taken = {name for node in model.graph.node for name in [*node.input, *node.output]} | set(self.constants)
        self._count = 0

    def add_branches(self, node: NodeProto) -> None:
        """An If: the branch that is known to run, or both and a Where for each output."""
        branches = {attribute.name: attribute.g for attribute in node.attribute}
        condition = self._value(node.input[0])
        if condition is not None:
            chosen = branches["then_branch" if bool(condition.reshape(-1)[0]) else "else_branch"]
            self._give(self._add(chosen, {}), list(node.output))
            return
        results = [self._add(branches[name], {}) for name in ("then_branch", "else_branch")]
        for output, one, other in zip(node.output, *results, strict=True):
            self._graph.node.append(helper.make_node("Where", [node.input[0], one, other], [output], name=f"{output}/chosen"))
            self._chosen[output] = node_label(node)

    def add_steps(self, node: NodeProto) -> None:
        """A Loop of known trip count whose condition stays true: its body once for each step."""
        body = node.attribute[0].g
        trips, condition = self._value(node.input[0]), self._value(node.input[1]) if node.input[1] else np.array(True)
        if trips is None or condition is None or not _keeps_going(body):
            raise UnsupportedError(
                f"unsupported: ONNX operator Loop (node {node_label(node)}): expected a trip count that is known and a condition "
                "that stays true, got one that depends on data: export the model with a fixed number of steps"
            )
        steps = int(trips.reshape(-1)[0]) if bool(condition.reshape(-1)[0]) else 0
        require_steps("Loop", node_label(node), steps)
        carried = list(node.input[2:])
        scanned: list[list[str]] = [[] for _ in range(len(body.output) - 1 - len(carried))]
        going = self._constant(np.array(True))
        for step in range(steps):
            given = [self._constant(np.array(step, np.int64)), going, *carried]
            results = self._add(body, {value.name: name for value, name in zip(body.input, given, strict=True)})[1:]
            carried = results[: len(carried)]
            for parts, part in zip(scanned, results[len(carried) :], strict=True):
                parts.append(self._add_axis(part))
        if not steps and scanned:
            raise UnsupportedError(
                f"unsupported: ONNX operator Loop (node {node_label(node)}): expected a step at least, got none"
            )
        kept = len(carried)
        self._give(carried, list(node.output[:kept]))
        for parts, output in zip(scanned, node.output[kept:], strict=False):
            self._graph.node.append(helper.make_node("Concat", parts, [output], axis=0))

    def _value(self, name: str) -> np.ndarray | None:
        return self._arrays.array(self.constants[name]) if name in self.constants else None

    def _give(self, values: list[str], names: list[str]) -> None:
        for value, name in zip(values, names, strict=True):
            if name:
                self._graph.node.append(helper.make_node("Identity", [value], [name]))

    def _add(self, graph: GraphProto, given: Mapping[str, str]) -> list[str]:
        """Write a subgraph's nodes under fresh names; the names of its outputs. given: input of the subgraph -> value."""
        self._count += 1
        prefix = f"inlined{self._count}"
        while any(name.startswith(f"{prefix}/") for name in self._taken):
            prefix += "_"
        own = [name for node in graph.node for name in node.output if name] + [tensor.name for tensor in graph.initializer]
        names = {**given, **{name: f"{prefix}/{name}" for name in own}}
        self._taken.update(names.values())
        for tensor in graph.initializer:
            self._graph.initializer.append(self._arrays.tensor(numpy_helper.to_array(tensor), names[tensor.name]))
        for node in graph.node:
            copied = NodeProto.FromString(node.SerializeToString())
            rename_values(copied, names)
            self._graph.node.append(copied)
        return [names.get(value.name, value.name) for value in graph.output]

    def _constant(self, value: np.ndarray) -> str:
        self._count += 1
        name = f"inlined{self._count}/constant"
        self._graph.initializer.append(numpy_helper.from_array(value, name))
        return name

    def _add_axis(self, value: str) -> str:
        """The value with an axis in front."""
        self._count += 1
        name = f"inlined{self._count}/part"
        if self._opset >= 13:
            node = helper.make_node("Unsqueeze", [value, self._constant(np.array([0], np.int64))], [name])
        else:
            node = helper.make_node("Unsqueeze", [value], [name], axes=[0])
        self._graph.node.append(node)
        return name


def require_one_shape(model: ModelProto, chosen: Mapping[str, str], shapes: Mapping[str, list[int]]) -> None:
    """UnsupportedError if data decides between results of different shapes. chosen: of `inline_control_flow`."""
    for node in model.graph.node:
        if node.op_type == "Where" and node.output[0] in chosen:
            one, other = (shapes.get(name) for name in node.input[1:])
            if one is None or one != other:
                sizes = " and ".join("x".join(map(str, shape)) if shape is not None else "unknown" for shape in (one, other))
                raise UnsupportedError(
                    f"unsupported: ONNX operator If (node {chosen[node.output[0]]}): data decides it, and then this importer "
                    f"expected branches of one shape, got {sizes}: fix the input that decides (--input-value NAME=NUMBER), or "
                    "export the model with the branch that is to run"
                )


def _keeps_going(body: GraphProto) -> bool:
    """Whether the condition that a loop's body gives is the one it got, or a true constant."""
    name = body.output[0].name
    made = {node.output[0]: node for node in body.node}
    while name in made and made[name].op_type in ("Identity", "Cast"):
        name = made[name].input[0]
    constants = {tensor.name: tensor for tensor in body.initializer}
    if name in made and made[name].op_type == "Constant":
        constants[name] = made[name].attribute[0].t
    return name == body.input[1].name or (name in constants and bool(numpy_helper.to_array(constants[name]).all()))


def require_steps(operator: str, node: str, steps: int) -> None:
    """UnsupportedError for more steps than are unrolled."""
    if steps > MOST_STEPS:
        raise UnsupportedError(
            f"unsupported: ONNX operator {operator} (node {node}): {steps} steps to unroll; this importer takes at most "
            f"{MOST_STEPS} (steps times directions, all layers together): give the model a shorter input with --shape"
        )
