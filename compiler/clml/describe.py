"""What a group of Relax calls becomes in the JSON graph: name, inputs, attributes; or why it cannot become a node.

The names, inputs and attributes are those that TVM's runtime reads (clml_runtime.cc). Where TVM's own serialiser drops or
mixes up something, what is written here is what the program says, in a form that this runtime reads right:

clip after a convolution   relu6 where the bounds are 0 and 6; other bounds are a clip of their own (TVM: dropped)
clip alone                 named "clip", as the runtime calls it (TVM: a name that the runtime refuses)
depthwise convolution      nn.depthwise_conv2d with weights (1, C, Kh, Kw), the same bytes (TVM: refused by the runtime)
padding before a convolution  added to that of the convolution (TVM: put in its place); only zeros around rows and columns
operands of binary operators  in the program's order, twice where one tensor is both (TVM: constants last, tensors once)
sums in float32 of halves  an attribute `accumulate`, beyond TVM's format
epsilon                    all its digits (TVM: six after the point)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np

from ...base.errors import UnsupportedError
from ...records import dataclass
from ..tvm_bridge import read

PREFIX = "openclml."


@dataclass(frozen=True)
class Description:
    """A node to be. inputs: Relax expressions, in the node's order; shapes: position -> shape, where it is not that of the
    expression (the bytes are the same)."""

    name: str
    inputs: tuple[Any, ...]
    attrs: dict[str, Any] = field(default_factory=dict)
    shapes: Mapping[int, tuple[int, ...]] = field(default_factory=dict)


def describe(composite: str, calls: Sequence[Any]) -> Description:
    """The node of a composite function that makes `calls`. UnsupportedError says why there is none."""
    by_op = {read.op_name(call): call for call in calls}
    for ending, make in _MAKERS:
        if composite.endswith(ending):
            return make(composite, by_op)
    raise UnsupportedError(f"unsupported: no OpenCL ML operator for pattern {composite}")


def _refuse(what: str) -> UnsupportedError:
    return UnsupportedError(f"unsupported: {what}")


# --- reading Relax --------------------------------------------------------------------------------------------


def static_shape(expr: Any) -> tuple[int, ...]:
    """UnsupportedError for sizes that only the run knows."""
    values = getattr(getattr(read.type_of(expr), "shape", None), "values", None)
    if values is None or any(read.kind(dim) != "IntImm" for dim in values):
        raise _refuse(f"a tensor of type {read.type_of(expr)}: sizes must be known")
    return tuple(int(dim) for dim in values)


def tensor_dtype(expr: Any) -> str:
    return read.scalar_dtype(read.type_of(expr).dtype, "a tensor")[0]


def constant_of(expr: Any) -> np.ndarray | None:
    """The data of a constant; None for anything else."""
    if read.kind(expr) not in ("GenericConst", "Constant"):
        return None
    value = expr.value if hasattr(expr, "value") else expr.data
    return np.asarray(value.numpy()) if hasattr(value, "numpy") else None


def attributes(call: Any) -> dict[str, Any]:
    """All attributes of a call as JSON values; None as "" and types as text, as TVM's extractor writes them."""
    info = getattr(type(call.attrs), "__tvm_ffi_type_info__", None)
    return {entry.name: _json(getattr(call.attrs, entry.name)) for entry in info.fields} if info is not None else {}


def _json(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, (bool, int)):
        return int(value)
    if isinstance(value, (float, str)):
        return value
    if read.kind(value) in ("IntImm", "FloatImm"):
        return value.value
    if isinstance(value, Sequence) or read.kind(value) in ("Array", "Tuple"):
        return [_json(item) for item in value]
    text = str(value)
    return "" if text == "void" else text


def _number(expr: Any) -> float:
    value = getattr(expr, "value", expr)
    return float(getattr(value, "value", value))


# --- convolutions ---------------------------------------------------------------------------------------------


def _convolution(composite: str, by_op: dict[str, Any]) -> Description:
    conv = by_op["relax.nn.conv2d" if "relax.nn.conv2d" in by_op else "relax.nn.conv2d_transpose"]
    transposed = read.op_name(conv) == "relax.nn.conv2d_transpose"
    attrs, weights, shapes = attributes(conv), conv.args[1], {}
    data = by_op["relax.nn.pad"].args[0] if "relax.nn.pad" in by_op else conv.args[0]
    attrs |= _accumulation(conv, by_op)
    _check_convolution(conv, attrs, by_op)
    name = composite
    if "relax.permute_dims" in by_op:
        weights, attrs["kernel_layout"] = by_op["relax.permute_dims"].args[0], "OIHW"
    elif transposed and attrs["kernel_layout"] != "OIHW":
        raise _refuse(f"weights in {attrs['kernel_layout']} that are not constant")
    o, i, kh, kw = static_shape(weights)
    if attrs["groups"] != 1 and not transposed:
        if not (attrs["groups"] == o == static_shape(data)[1] and i == 1):
            raise _refuse(f"{attrs['groups']} groups: OpenCL ML has plain and depthwise convolution")
        name = composite.removesuffix("nn.conv2d").replace("pad.", "") + "nn.depthwise_conv2d"
        shapes[1], attrs["kernel_layout"] = (1, o, kh, kw), "IOHW"
    if "relax.nn.pad" in by_op:
        attrs["padding"] = [a + b for a, b in zip(attrs["padding"], _padding(by_op["relax.nn.pad"]), strict=True)]
    inputs = [data, weights]
    if "relax.add" in by_op:
        bias = _bias(by_op["relax.add"])
        if static_shape(bias) not in ((1, o, 1, 1), (o, 1, 1)):
            raise _refuse(f"a bias of shape {static_shape(bias)}: expected one value for each of {o} channels")
        inputs.append(bias)
        shapes[len(inputs) - 1] = (1, o, 1, 1)
    if "relax.nn.batch_norm" in by_op:
        norm = by_op["relax.nn.batch_norm"]
        inputs += norm.args[1:5]
        attrs["batchnorm"] = _normalisation(norm, 4)
    if kind := _activation(by_op):
        attrs["activation_type"] = kind
    return Description(name, tuple(inputs), attrs, shapes)


def _check_convolution(conv: Any, attrs: dict[str, Any], by_op: dict[str, Any]) -> None:
    if attrs["data_layout"] != "NCHW" or attrs["out_layout"] not in ("", "NCHW"):
        raise _refuse(f"data in {attrs['data_layout']}, results in {attrs['out_layout']}: expected NCHW")
    if read.op_name(conv) == "relax.nn.conv2d" and attrs["kernel_layout"] != "OIHW":
        raise _refuse(f"weights in {attrs['kernel_layout']}: expected OIHW")
    if attrs["out_dtype"] not in ("", tensor_dtype(conv.args[0])):
        raise _refuse(f"{tensor_dtype(conv.args[0])} data with results in {attrs['out_dtype']}")
    if "relax.nn.batch_norm" in by_op and "relax.add" in by_op:
        names = list(by_op)
        if names.index("relax.add") > names.index("relax.nn.batch_norm"):
            raise _refuse("an addition after batch normalisation")


def _accumulation(product: Any, by_op: dict[str, Any]) -> dict[str, str]:
    """Attributes of a product of halves that is summed in float32 and stored in half; none for others.

    TVM's runtime reads no such attribute: it sums halves in half.
    """
    if "relax.astype" not in by_op:
        return {}
    types = tensor_dtype(product.args[0]), tensor_dtype(product), tensor_dtype(by_op["relax.astype"])
    if types != ("float16", "float32", "float16"):
        raise _refuse(f"{types[0]} summed in {types[1]} and stored in {types[2]}")
    return {"out_dtype": "float16", "accumulate": "float32"}


def _bias(addition: Any) -> Any:
    """The operand of an addition that is not a result inside the group: it is on either side, as patterns of sums match both."""
    first, second = addition.args
    return second if read.kind(first) == "DataflowVar" else first


def _padding(pad: Any) -> list[int]:
    """(top, left, bottom, right) of an nn.pad, with zeros around rows and columns only."""
    attrs = attributes(pad)
    widths = attrs["pad_width"]
    value = _number(pad.args[1]) if len(pad.args) > 1 else float(attrs.get("pad_value") or 0.0)
    if attrs.get("pad_mode", "constant") != "constant" or value != 0:
        raise _refuse(f"padding by {attrs.get('pad_mode')} with {value:g}: a convolution pads with zeros")
    if len(widths) != 8 or any(widths[:4]):
        raise _refuse(f"padding by {widths}: a convolution pads rows and columns")
    return [widths[4], widths[6], widths[5], widths[7]]


def _activation(by_op: dict[str, Any]) -> str:
    if "relax.clip" in by_op:
        bounds = tuple(_number(bound) for bound in by_op["relax.clip"].args[1:])
        if bounds != (0.0, 6.0):
            raise _refuse(f"clip to {bounds[0]:g}..{bounds[1]:g} in one operator with a convolution: only relu6 (0..6) is")
        return "relu6"
    return "relu" if "relax.nn.relu" in by_op else ""


def _normalisation(norm: Any, rank: int) -> list[str]:
    attrs = attributes(norm)
    if attrs.get("training"):
        raise _refuse("batch normalisation in training mode")
    if not attrs["center"] or not attrs["scale"]:
        raise _refuse("batch normalisation without its scale or shift: the runtime always applies both")
    axis = attrs["axis"] + (rank if attrs["axis"] < 0 else 0)
    return [str(axis), repr(attrs["epsilon"]), str(attrs["center"]), str(attrs["scale"])]


# --- others ---------------------------------------------------------------------------------------------------


def _batch_norm(composite: str, by_op: dict[str, Any]) -> Description:
    norm = by_op["relax.nn.batch_norm"]
    attrs = attributes(norm)
    attrs["axis"] = int(_normalisation(norm, len(static_shape(norm.args[0])))[0])
    return Description(composite, tuple(norm.args[:5]), attrs)


def _same(op: str, name: str = "") -> Callable[[str, dict[str, Any]], Description]:
    """A node with the inputs and attributes of one call."""

    def make(composite: str, by_op: dict[str, Any]) -> Description:
        call = by_op[op]
        return Description(name or composite, tuple(call.args), attributes(call))

    return make


def _relu(composite: str, by_op: dict[str, Any]) -> Description:
    found = _same("relax.nn.relu")(composite, by_op)
    return replace(found, attrs={**found.attrs, "activation_type": "relu"})


def _pool(op: str) -> Callable[[str, dict[str, Any]], Description]:
    def make(composite: str, by_op: dict[str, Any]) -> Description:
        found = _same(op)(composite, by_op)
        if found.attrs["layout"] != "NCHW" or found.attrs["out_layout"] not in ("", "NCHW"):
            raise _refuse(f"pooling in {found.attrs['layout']}: expected NCHW")
        return found

    return make


def _global_average(composite: str, by_op: dict[str, Any]) -> Description:
    (call,) = by_op.values()
    attrs = attributes(call)
    axes = attrs.get("axis", [2, 3])
    if axes != [2, 3] or attrs.get("output_size", [1, 1]) != [1, 1] or attrs.get("layout", "NCHW") != "NCHW":
        raise _refuse("an average that is not over all rows and columns of NCHW")
    return Description(composite, (call.args[0],), attrs)


def _reshape(composite: str, by_op: dict[str, Any]) -> Description:
    (call,) = by_op.values()
    static_shape(call)
    return Description(composite, (call.args[0],))


def _clip(composite: str, by_op: dict[str, Any]) -> Description:
    data, low, high = by_op["relax.clip"].args
    return Description("clip", (data,), {"a_min": _number(low), "a_max": _number(high)})


def _concatenate(composite: str, by_op: dict[str, Any]) -> Description:
    call = by_op["relax.concat"]
    items = call.args[0]
    if read.kind(items) != "Tuple":
        raise _refuse("concatenation of a tuple that is computed")
    axis = attributes(call)["axis"]
    axis = 0 if axis == "" else axis
    return Description("concatenate", tuple(items.fields), {"axis": axis + (len(static_shape(call)) if axis < 0 else 0)})


def _dense(composite: str, by_op: dict[str, Any]) -> Description:
    call = by_op["relax.matmul"]
    inputs, shapes = [call.args[0], by_op["relax.permute_dims"].args[0]], {}
    if "relax.add" in by_op:
        bias, wide = _bias(by_op["relax.add"]), static_shape(call)[-1]
        if int(np.prod(static_shape(bias))) != wide or static_shape(bias)[-1] != wide:
            raise _refuse(f"a bias of shape {static_shape(bias)}: expected {wide} values")
        inputs.append(bias)
        shapes[2] = (1, wide)
    attrs = {"units": static_shape(call)[-1], "out_dtype": tensor_dtype(call)} | _accumulation(call, by_op)
    return Description("nn.dense", tuple(inputs), attrs, shapes)


def _dequant_matmul(composite: str, by_op: dict[str, Any]) -> Description:
    product, unpack = by_op["relax.matmul"], by_op["relax.call_tir"]
    packed, scales = unpack.args[1].fields
    return Description(composite, (packed, scales, product.args[0]), {"out_dtype": tensor_dtype(product)})


_BINARY = ("add", "subtract", "multiply", "divide", "maximum", "minimum")

_MAKERS: list[tuple[str, Callable[[str, dict[str, Any]], Description]]] = [
    ("nn.conv2d", _convolution),
    ("nn.conv2d_transpose", _convolution),
    ("nn.batch_norm", _batch_norm),
    ("nn.max_pool2d", _pool("relax.nn.max_pool2d")),
    ("nn.avg_pool2d", _pool("relax.nn.avg_pool2d")),
    ("nn.global_avg_pool2d", _global_average),
    ("relax.nn.softmax", _same("relax.nn.softmax")),
    ("relax.nn.relu", _relu),
    ("relax.clip", _clip),
    ("nn.dense", _dense),
    ("dequant_matmul", _dequant_matmul),
    ("concatenate", _concatenate),
    ("reshape", _reshape),
    *((f"relax.{name}", _same(f"relax.{name}")) for name in _BINARY),
]  # fmt: skip
"""End of a composite's name -> what makes its node."""
