"""An operator of Relax with what its attributes say, as a call in a module or as a label on the PrimFunc that computes it."""

from __future__ import annotations

import json
from typing import Any, Union

from ....compiler.tvm_bridge import read
from ....compiler.tvm_bridge.versions import shape_values
from ....records import dataclass
from ..value import HALVES

LABEL = "adreno_sim.operator"
"""The attribute of a PrimFunc that says which operator it computes."""

Attribute = Union[int, bool, str, None]

_ATTRIBUTES: dict[str, tuple[str, ...]] = {
    "sort": ("axis", "descending"),
    "argsort": ("axis", "descending"),
    "topk": ("axis", "k", "largest", "ret_type"),
    "cumsum": ("axis", "exclusive"),
    "cumprod": ("axis", "exclusive"),
    "bucketize": ("right",),
    "multinomial_from_uniform": (),
    "scatter_elements": ("axis", "reduction"),
    "scatter_nd": ("reduction",),
}
_FLAGS = ("descending", "largest", "exclusive", "right")


@dataclass(frozen=True)
class Operator:
    """name: without "relax.". attributes: by name, in a fixed order; an axis counts from the front, except for the last, -1."""

    name: str
    attributes: tuple[tuple[str, Attribute], ...] = ()

    @property
    def text(self) -> str:
        """All that it says, in one line."""
        return json.dumps([self.name, dict(self.attributes)])

    def __getitem__(self, attribute: str) -> Any:
        return dict(self.attributes)[attribute]


def read_call(call: Any) -> tuple[Operator, list[Any]] | None:
    """The operator of a Relax call and its operands in the order of its kernel; None for one that is not computed here."""
    name = read.op_name(call).removeprefix("relax.") if read.kind(call) == "Call" else ""
    if name not in _ATTRIBUTES:
        return None
    operands = list(call.args)
    if name == "bucketize":
        operands.reverse()  # the kernel takes the boundaries first
    rank = len(shape_values(read.type_of(operands[0])) or ())
    found: list[tuple[str, Attribute]] = []
    for attribute in _ATTRIBUTES[name]:
        value = getattr(call.attrs, attribute)
        if attribute == "axis" and value is not None:
            value = int(value) + (rank if int(value) < 0 else 0)
            value = -1 if value == rank - 1 else value
        elif attribute in _FLAGS:
            value = bool(value)
        elif attribute == "k":
            value = int(value)
        elif attribute == "reduction":
            value = str(value)
        found.append((attribute, value))
    return Operator(name, tuple(found)), operands


def read_label(function: Any) -> Operator | None:
    """The operator that a PrimFunc is labelled with."""
    if not function.attrs or LABEL not in function.attrs:
        return None
    name, attributes = json.loads(str(function.attrs[LABEL]))
    return Operator(name, tuple(attributes.items()))


def gives_places(operator: Operator) -> bool:
    """Whether an operator's last result says where values come from."""
    return operator.name == "argsort" or (operator.name == "topk" and operator["ret_type"] != "values")


def holds_halves(function: Any) -> bool:
    """Whether a parameter of a PrimFunc is of a half type."""
    infos = (read.buffer_param(function, param) for param in function.params)
    return any(info is not None and info.dtype in HALVES for info in infos)
