"""LSTM, GRU and RNN of ONNX, unrolled into products and activations, which TVM's importer has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import numpy as np
from onnx import ModelProto, NodeProto, helper

from ...base.errors import UnsupportedError
from ...golden.onnx_model import LargeArrays
from ...records import dataclass
from .onnx_control import require_steps
from .onnx_names import attributes_of, node_label

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
ACTIVATIONS = {"LSTM": ["Sigmoid", "Tanh", "Tanh"], "GRU": ["Sigmoid", "Tanh"], "RNN": ["Tanh"]}
KNOWN_ACTIVATIONS = ("Sigmoid", "Tanh", "Relu")


def unroll_recurrent(model: ModelProto, arrays: LargeArrays, shapes: Mapping[str, list[int]]) -> None:
    """Replace recurrent nodes by their steps, in place. shapes: of the tensors, by name.

    UnsupportedError naming the node where its length or weights are not known, for attributes that are rare, and for more than
    `onnx_control.MOST_STEPS` steps times directions in the model.
    """
    nodes = [NodeProto.FromString(node.SerializeToString()) for node in model.graph.node]
    if not any(node.op_type in GATES for node in nodes):
        return
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    del model.graph.node[:]
    total = 0
    for number, node in enumerate(nodes):
        if node.op_type not in GATES or node.domain not in ("", "ai.onnx"):
            model.graph.node.append(node)
            continue
        known = {name: arrays.array(constants[name]) for name in node.input if name in constants}
        layer = _read_layer(node, known, shapes)
        total += layer.steps * len(layer.weights)
        require_steps(node.op_type, node_label(node), total)
        _Writer(model, arrays, f"recurrent{number}").add(layer)


@dataclass(frozen=True)
class _Layer:
    """A recurrent node. weights: W (G*H, I), R (G*H, H), both biases (G*H), peepholes (3, H) or None, for each direction."""

    node: NodeProto
    steps: int
    batch: int
    hidden: int
    weights: list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]]
    reverse: list[bool]
    activations: list[str]
    resets_product: bool
    initial: dict[int, str]


def _read_layer(node: NodeProto, known: Mapping[str, np.ndarray], shapes: Mapping[str, list[int]]) -> _Layer:
    attributes = attributes_of(node)
    operands = dict(enumerate(node.input))
    size = shapes.get(node.input[0])
    if size is None:
        _refuse(node, f"expected an input of known shape, got {node.input[0]} without one: give the model's shapes with --shape")
    if any(operands.get(i) and operands[i] not in known for i in (1, 2, 3, 4, 7)):
        _refuse(node, "expected weights and sequence lengths that are constants, got some that are computed from inputs")
    directions, hidden = known[operands[1]].shape[0], known[operands[2]].shape[2]
    activations = [text.decode() for text in attributes.get("activations", [])] or ACTIVATIONS[node.op_type] * directions
    for name in ("clip", "layout", "input_forget", "activation_alpha", "activation_beta"):
        if attributes.get(name):
            _refuse(node, f"expected no attribute {name}, got {attributes[name]}: export the model without it")
    for name in activations:
        if name not in KNOWN_ACTIVATIONS:
            _refuse(node, f"expected an activation of {', '.join(KNOWN_ACTIVATIONS)}, got {name}")
    lengths = operands.get(4)
    if lengths and set(known[lengths].tolist()) != {size[0]}:
        _refuse(node, f"expected sequences of the whole length {size[0]}, got lengths {known[lengths].tolist()}")
    rows = GATES[node.op_type] * hidden
    bias = known[operands[3]] if operands.get(3) else np.zeros((directions, 2 * rows), known[operands[1]].dtype)
    peep = known[operands[7]].reshape(directions, 3, hidden) if operands.get(7) else [None] * directions
    weights = [(known[operands[1]][d], known[operands[2]][d], bias[d][:rows], bias[d][rows:], peep[d]) for d in range(directions)]
    way = attributes.get("direction", b"forward").decode()
    reverse = [False, True] if way == "bidirectional" else [way == "reverse"]
    initial = {i: operands[i] for i in (5, 6) if operands.get(i)}
    return _Layer(
        node, size[0], size[1], hidden, weights, reverse, activations, not attributes.get("linear_before_reset", 0), initial
    )


def _refuse(node: NodeProto, why: str) -> NoReturn:
    raise UnsupportedError(f"unsupported: ONNX operator {node.op_type} (node {node_label(node)}): {why}")


class _Writer:
    """Writes the steps of one layer to the end of a graph."""

    def __init__(self, model: ModelProto, arrays: LargeArrays, prefix: str):
        self._graph = model.graph
        self._arrays = arrays
        self._prefix = prefix
        self._count = 0
        self._dtype = np.dtype(np.float32)

    def add(self, layer: _Layer) -> None:
        self._dtype = layer.weights[0][0].dtype
        outputs: list[list[str]] = []
        lasts: list[list[str]] = []
        for direction in range(len(layer.weights)):
            states, last = self._direction(layer, direction)
            outputs.append(states)
            lasts.append(last)
        one, batch, hidden = 1, layer.batch, layer.hidden
        results: list[Callable[[], str]] = [
            lambda: self._join([self._join([self._shape(h, [one, one, batch, hidden]) for h in way], 0) for way in outputs], 1),
            lambda: self._join([self._shape(last[0], [one, batch, hidden]) for last in lasts], 0),
            lambda: self._join([self._shape(last[1], [one, batch, hidden]) for last in lasts], 0),
        ]
        for name, make in zip(layer.node.output, results, strict=False):
            if name:
                self._graph.node.append(helper.make_node("Identity", [make()], [name]))

    def _direction(self, layer: _Layer, direction: int) -> tuple[list[str], list[str]]:
        """The hidden states in the order of the input, and the last states."""
        w, r, input_bias, state_bias, peepholes = layer.weights[direction]
        gates, hidden, batch = GATES[layer.node.op_type], layer.hidden, layer.batch
        acts = layer.activations[direction * len(ACTIVATIONS[layer.node.op_type]) :]
        product = self._op("MatMul", layer.node.input[0], self._constant(np.ascontiguousarray(w.T)))
        product = self._op("Add", product, self._constant(input_bias))
        product = self._shape(product, [layer.steps, batch, gates, hidden])
        states = [self._initial(layer, 5 + i, direction) for i in range(2 if layer.node.op_type == "LSTM" else 1)]
        found: dict[int, str] = {}
        order = range(layer.steps)
        for step in reversed(order) if layer.reverse[direction] else order:
            x = self._take(product, step, 0)
            if layer.node.op_type == "GRU" and layer.resets_product:
                states = [self._gru_before(x, states[0], r, state_bias, acts, layer)]
            else:
                h = self._op("MatMul", states[0], self._constant(np.ascontiguousarray(r.T), f"r{direction}"))
                h = self._shape(self._op("Add", h, self._constant(state_bias, f"b{direction}")), [batch, gates, hidden])
                if layer.node.op_type == "LSTM":
                    states = self._lstm(self._op("Add", x, h), states, acts, peepholes)
                elif layer.node.op_type == "RNN":
                    states = [self._take(self._op(acts[0], self._op("Add", x, h)), 0, 1)]
                else:
                    z, reset = (self._op(acts[0], self._op("Add", self._take(x, i, 1), self._take(h, i, 1))) for i in (0, 1))
                    inner = self._op("Add", self._take(x, 2, 1), self._op("Mul", reset, self._take(h, 2, 1)))
                    states = [self._mix(z, self._op(acts[1], inner), states[0])]
            found[step] = states[0]
        return [found[step] for step in order], states

    def _lstm(self, gates: str, states: list[str], acts: list[str], peepholes: np.ndarray | None) -> list[str]:
        """One step: hidden and cell state. The gates are in the order input, output, forget, cell."""
        i, o, f, c = (self._take(gates, k, 1) for k in range(4))
        cell = states[1]
        if peepholes is not None:
            i = self._op("Add", i, self._op("Mul", cell, self._constant(peepholes[0])))
            f = self._op("Add", f, self._op("Mul", cell, self._constant(peepholes[2])))
        kept = self._op("Mul", self._op(acts[0], f), cell)
        cell = self._op("Add", kept, self._op("Mul", self._op(acts[0], i), self._op(acts[1], c)))
        if peepholes is not None:
            o = self._op("Add", o, self._op("Mul", cell, self._constant(peepholes[1])))
        return [self._op("Mul", self._op(acts[0], o), self._op(acts[2], cell)), cell]

    def _gru_before(self, x: str, state: str, r: np.ndarray, bias: np.ndarray, acts: list[str], layer: _Layer) -> str:
        """One step of a GRU that resets the state before its product. The gates are in the order update, reset, hidden."""
        weights, biases = r.reshape(3, layer.hidden, layer.hidden), bias.reshape(3, layer.hidden)

        def gate(i: int, operand: str, activation: str) -> str:
            product = self._op("MatMul", operand, self._constant(np.ascontiguousarray(weights[i].T)))
            return self._op(activation, self._op("Add", self._take(x, i, 1), self._op("Add", product, self._constant(biases[i]))))

        z, reset = gate(0, state, acts[0]), gate(1, state, acts[0])
        return self._mix(z, gate(2, self._op("Mul", reset, state), acts[1]), state)

    def _mix(self, z: str, fresh: str, state: str) -> str:
        """(1 - z) * fresh + z * state."""
        rest = self._op("Sub", self._constant(np.array(1, self._dtype)), z)
        return self._op("Add", self._op("Mul", rest, fresh), self._op("Mul", z, state))

    def _initial(self, layer: _Layer, operand: int, direction: int) -> str:
        if operand in layer.initial:
            return self._take(layer.initial[operand], direction, 0)
        return self._constant(np.zeros((layer.batch, layer.hidden), self._dtype))

    def _take(self, value: str, index: int, axis: int) -> str:
        """One slice along an axis, which is dropped."""
        return self._op("Gather", value, self._constant(np.array(index, np.int64), f"at{index}"), axis=axis)

    def _shape(self, value: str, sizes: list[int]) -> str:
        return self._op("Reshape", value, self._constant(np.array(sizes, np.int64)))

    def _join(self, values: list[str], axis: int) -> str:
        return values[0] if len(values) == 1 else self._op("Concat", *values, axis=axis)

    def _op(self, operator: str, *operands: str, **attributes: Any) -> str:
        self._count += 1
        name = f"{self._prefix}/{operator}{self._count}"
        self._graph.node.append(helper.make_node(operator, list(operands), [name], name=name, **attributes))
        return name

    def _constant(self, value: np.ndarray, shared: str = "") -> str:
        """An initialiser. shared: what it is, for one that several steps read."""
        self._count += 1
        name = f"{self._prefix}/{shared or f'constant{self._count}'}"
        if not shared or all(tensor.name != name for tensor in self._graph.initializer):
            self._graph.initializer.append(self._arrays.tensor(np.asarray(value), name))
        return name
