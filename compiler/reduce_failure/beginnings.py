"""The beginnings of a model: of its ONNX graph where it was one, else of the Relax function `main`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...golden.onnx_model import OnnxModel
from ..importers.model import Model
from ..tvm_bridge.versions import import_tvm, type_of, var_name
from .search import Beginnings

if TYPE_CHECKING:
    from tvm import IRModule


def beginnings_of(model: Model) -> Beginnings:
    """Returns the beginnings of a model."""
    return RelaxBeginnings(model.module) if model.onnx is None else OnnxBeginnings(model.onnx)


class OnnxBeginnings:
    """Of an ONNX graph, by nodes."""

    def __init__(self, model: OnnxModel):
        self._model = model

    @property
    def count(self) -> int:
        return len(self._model.proto.graph.node)

    def module(self, length: int) -> IRModule:
        import onnx

        from ..importers.onnx import to_relax

        part = onnx.ModelProto()
        part.CopyFrom(self._model.proto)
        del part.graph.node[length:]
        del part.graph.output[:]
        read = {name for node in part.graph.node for name in node.input}
        for name in (name for node in part.graph.node for name in node.output if name and name not in read):
            part.graph.output.append(onnx.ValueInfoProto(name=name))
        return to_relax(OnnxModel(part, self._model.arrays), "model")

    def name(self, number: int) -> str:
        from ..importers.onnx_names import node_label

        node = self._model.proto.graph.node[number]
        return f"ONNX operator {node.op_type} (node {node_label(node)})"


class RelaxBeginnings:
    """Of a Relax module, by the bindings of `main`."""

    def __init__(self, module: IRModule):
        self._module = module
        self._blocks = list(module["main"].body.blocks)
        self._bindings = [binding for block in self._blocks for binding in block.bindings]

    @property
    def count(self) -> int:
        return len(self._bindings)

    def module(self, length: int) -> IRModule:
        relax, main = import_tvm().relax, self._module["main"]
        blocks: list[Any] = []
        left = length
        for block in self._blocks:
            kept = list(block.bindings)[:left]
            left -= len(kept)
            if left == 0:
                results = [relax.Var(f"result_{n}", type_of(var)) for n, var in enumerate(_unread(kept))]
                ends = [relax.VarBinding(*pair) for pair in zip(results, _unread(kept), strict=True)]
                blocks.append(type(block)([*kept, *ends]))
                break
            blocks.append(block)
        body = relax.BlockBuilder().normalize(relax.SeqExpr(blocks, relax.Tuple(results)))
        part = import_tvm().IRModule(dict(self._module.functions_items()), attrs=self._module.attrs)
        part.update_func(part.get_global_var("main"), relax.Function(main.params, body, attrs=main.attrs))
        return part

    def name(self, number: int) -> str:
        binding = self._bindings[number]
        value = getattr(binding, "value", None)
        called = getattr(value, "op", None)
        operator = getattr(called, "name", "") or getattr(called, "name_hint", "") or type(value).__name__
        return f"{operator} (which gives {var_name(binding.var)})"


def _unread(bindings: list[Any]) -> list[Any]:
    """Variables that these bind and none of them reads; the last one's at least."""
    relax = import_tvm().relax
    read: set[int] = set()

    def note(node: Any) -> None:
        if isinstance(node, relax.Var):
            read.add(int(node.__chandle__()))

    for binding in bindings:
        relax.analysis.post_order_visit(binding.value, note)
    return [binding.var for binding in bindings if int(binding.var.__chandle__()) not in read]
