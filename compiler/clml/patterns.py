"""The patterns of Relax operators that OpenCL ML takes: those of TVM's table, by the same names, and a few more.

TVM puts a reshape behind every batch normalisation, because no pattern may end in an item of a tuple; its own patterns that go
on from that item then match nothing. Here they take the reshape along.

TVM's table has 86: 72 convolutions (plain, padded, transposed; with bias, batch normalisation and its tuple, relu or clip), the
rest single operators. Each check here builds the node the pattern would become and asks the simulated runtime whether it takes
it, so that nothing is offloaded that would be refused when it runs. Patterns beyond TVM's table: concatenation, dense layers and
adaptive averages over everything, which the runtime has and the table has not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ...base.errors import UnsupportedError
from ...mlops.engine import check_graph
from ...mlops.graph import Entry, Graph, Node
from ...profiles.ml import MLCapabilities
from ..tvm_bridge import read
from .describe import Description, describe, static_shape, tensor_dtype

BINARY = ("add", "subtract", "multiply", "divide", "maximum", "minimum")


def pattern_table(capabilities: MLCapabilities) -> list[tuple[str, Any, dict[str, Any], Any]]:
    """(name, pattern, annotations, check) for FuseOpsByPattern, the larger of two that fit first."""
    return [(name, pattern, {"root": pattern}, _check(name, capabilities)) for name, pattern in _patterns()]


def _patterns() -> Iterator[tuple[str, Any]]:
    from tvm.relax.dpl.pattern import is_const, is_op, is_tuple_get_item, wildcard

    conv = list(_convolutions())
    yield from conv[::-1]
    norm = is_op("relax.nn.batch_norm")(wildcard(), is_const(), is_const(), is_const(), is_const())
    yield "openclml.nn.batch_norm", is_op("relax.reshape")(is_tuple_get_item(norm, 0), wildcard())
    yield "openclml.nn.dense", is_op("relax.add")(_matmul(), is_const())
    yield "openclml.nn.dense", _matmul()
    for name in BINARY:
        yield f"openclml.relax.{name}", is_op(f"relax.{name}")(wildcard(), wildcard())
    yield "openclml.relax.nn.softmax", is_op("relax.nn.softmax")(wildcard())
    yield "openclml.relax.nn.relu", is_op("relax.nn.relu")(wildcard())
    yield "openclml.relax.clip", is_op("relax.clip")(wildcard(), wildcard(), wildcard())
    yield "openclml.nn.max_pool2d", is_op("relax.nn.max_pool2d")(wildcard())
    yield "openclml.nn.avg_pool2d", is_op("relax.nn.avg_pool2d")(wildcard())
    yield "openclml.nn.global_avg_pool2d", is_op("relax.mean")(wildcard()).has_attr({"axis": [2, 3]})
    yield "openclml.nn.global_avg_pool2d", is_op("relax.nn.adaptive_avg_pool2d")(wildcard())
    yield "openclml.reshape", is_op("relax.reshape")(wildcard(), wildcard())
    yield "openclml.concatenate", is_op("relax.concat")(wildcard())


def _matmul() -> Any:
    from tvm.relax.dpl.pattern import is_const, is_op, wildcard

    return _cast_products(is_op("relax.matmul")(wildcard(), is_op("relax.permute_dims")(is_const())))


def _convolutions() -> Iterator[tuple[str, Any]]:
    """The 72 of TVM's names, smallest first. Some say what no well-typed program does (relu of a tuple): they match nothing."""
    from tvm.relax.dpl.pattern import is_const, is_op, is_tuple_get_item, wildcard

    constant = is_const
    found = [
        ("nn.conv2d", _cast_products(is_op("relax.nn.conv2d")(wildcard(), wildcard()))),
        ("pad.nn.conv2d", _cast_products(is_op("relax.nn.conv2d")(is_op("relax.nn.pad")(wildcard()), wildcard()))),
        ("nn.conv2d_transpose", _cast_products(is_op("relax.nn.conv2d_transpose")(wildcard(), _weights()))),
    ]
    found += [(f"bias.{name}", is_op("relax.add")(pattern, constant())) for name, pattern in found]
    found += [
        (f"bn.{name}", is_op("relax.nn.batch_norm")(pattern, constant(), constant(), constant(), constant()))
        for name, pattern in found
    ]
    found += [(f"tuple.{name}", _item(is_tuple_get_item(pattern, 0))) for name, pattern in found]
    found += [
        *((f"relu.{name}", is_op("relax.nn.relu")(pattern)) for name, pattern in found),
        *((f"clip.{name}", is_op("relax.clip")(pattern, wildcard(), wildcard())) for name, pattern in found),
    ]
    return ((f"openclml.{name}", pattern) for name, pattern in found)


def _cast_products(product: Any) -> Any:
    """Sums of products, or these rounded to another type: in half with sums in float32."""
    from tvm.relax.dpl.pattern import is_op

    return is_op("relax.astype")(product) | product


def _item(item: Any) -> Any:
    """An item of a tuple, with or without TVM's reshape behind it."""
    from tvm.relax.dpl.pattern import is_op, wildcard

    return is_op("relax.reshape")(item, wildcard()) | item


def _weights() -> Any:
    """Weights of a transposed convolution: unchanged, or turned from OIHW by `prepare`."""
    from tvm.relax.dpl.pattern import is_const, is_op, wildcard

    return is_op("relax.permute_dims")(is_const()) | wildcard()


def _check(name: str, capabilities: MLCapabilities) -> Callable[[Any], bool]:
    from tvm.relax.backend.utils import has_leaking_intermediate_variables

    def check(context: Any) -> bool:
        root = context.annotated_expr["root"]
        if has_leaking_intermediate_variables(context):  # a value inside is read outside: the node would have two results
            return False
        try:
            require(describe(name, calls_of(context.matched_bindings, root)), root, capabilities)
        except UnsupportedError:
            return False
        return True

    return check


def calls_of(bindings: Any, root: Any) -> list[Any]:
    """The calls among matched bindings, in the order of the program."""
    found = [value for value in bindings.values() if read.kind(value) == "Call"]
    if read.kind(root) == "Call" and not any(call.same_as(root) for call in found):
        found.append(root)
    return _in_order(found, bindings)


def _in_order(calls: Sequence[Any], bindings: Any) -> list[Any]:
    """Operands before what takes them."""
    bound = {read.key(var): value for var, value in bindings.items()}
    known = {read.key(call): call for call in calls}
    out: list[Any] = []

    def visit(expr: Any) -> None:
        expr = bound.get(read.key(expr), expr)
        if read.kind(expr) == "TupleGetItem":
            visit(expr.tuple_value)
        if read.key(expr) not in known:
            return
        call = known.pop(read.key(expr))
        for arg in call.args:
            visit(arg)
        out.append(call)

    for call in calls:
        visit(call)
    return out


def require(found: Description, result: Any, capabilities: MLCapabilities) -> None:
    """UnsupportedError if the runtime would not take a node, with results as `result`."""
    if hasattr(read.type_of(result), "fields"):
        raise UnsupportedError("unsupported: a result that is a tuple")
    nodes: list[Node] = []
    for position, expr in enumerate(found.inputs):
        shape = found.shapes.get(position, static_shape(expr))
        nodes.append(Node("input", f"input{position}", (shape,), (tensor_dtype(expr),)))
    entries = tuple(Entry(position) for position in range(len(nodes)))
    nodes.append(Node("kernel", found.name, (static_shape(result),), (tensor_dtype(result),), entries, found.attrs))
    check_graph(Graph(tuple(nodes), (Entry(len(entries)),)), capabilities)
    _require_sizes(nodes)


def _require_sizes(nodes: Sequence[Node]) -> None:
    """What TVM's table asks for besides: no more than one image in element-wise operators, no empty tensors."""
    *sources, kernel = nodes
    if any(node.size == 0 for node in nodes):
        raise UnsupportedError("unsupported: an empty tensor")
    if any(not node.shape for node in nodes):
        raise UnsupportedError("unsupported: a tensor without dimensions")
    single = kernel.name == "clip" or kernel.name.startswith("openclml.relax.")
    if single and any(node.shape[0] > 1 for node in sources):
        raise UnsupportedError(f"unsupported: a first dimension of {sources[0].shape[0]} in an element-wise operator: expected 1")
