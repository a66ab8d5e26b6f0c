"""Which parameters of a module's functions are weights: what the module says, else those that functions share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from ...base.specs import TensorSpec
from ...records import dataclass
from ..artifact.interface import EntryParam, PackedInfo, TensorInfo
from ..artifact.memory_plan import FixedTensor
from ..tvm_bridge.versions import import_tvm
from .entry_model import tensors_of

if TYPE_CHECKING:
    from tvm import IRModule

Key = tuple[str, tuple[int, ...], str, str]
"""Name, shape, type and scope: parameters alike in these are one tensor that functions share."""

Weights = Mapping[Key, FixedTensor]

BOUNDS = ("tir_var_upper_bound", "tirx_var_upper_bound")
"""Attributes of a function that say the largest sizes of its symbols."""


@dataclass(frozen=True)
class EntryFacts:
    """What a module says of a function. inputs: how many of its parameters come before the weights; None = it does not say.

    stated: upper bounds of symbols.
    """

    inputs: int | None = None
    stated: Mapping[str, int] = field(default_factory=dict)


def read_facts(module: IRModule) -> dict[str, EntryFacts]:
    """What the Relax functions of a module say of themselves, by name."""
    relax = import_tvm().relax
    found = {}
    for var, function in module.functions_items():
        if isinstance(function, relax.Function):
            attributes: Any = function.attrs or {}
            inputs = int(attributes["num_input"]) if "num_input" in attributes else None
            stated = {str(k): int(v) for name in BOUNDS if name in attributes for k, v in attributes[name].items()}
            found[str(var.name_hint)] = EntryFacts(inputs, stated)
    return found


def stated_bounds(facts: Mapping[str, EntryFacts], entries: Sequence[str]) -> dict[str, int]:
    """The upper bounds that these functions state; the larger one where they differ."""
    found: dict[str, int] = {}
    for name in entries:
        for symbol, most in facts.get(name, EntryFacts()).stated.items():
            found[symbol] = max(most, found.get(symbol, most))
    return found


def find_weights(entries: Mapping[str, Sequence[EntryParam]], facts: Mapping[str, EntryFacts]) -> Weights:
    """The weights of all functions, each once.

    They are the parameters behind those that the module counts as inputs. Of functions without such a number: tuples, and
    tensors of known shape that another function takes too.
    """
    counts: dict[Key, int] = {}
    for params in entries.values():
        for key in dict.fromkeys(_key(info) for info in tensors_of(params)):
            counts[key] = counts.get(key, 0) + 1
    found: dict[Key, FixedTensor] = {}
    for name, params in entries.items():
        inputs = facts.get(name, EntryFacts()).inputs
        for position, param in enumerate(params):
            for info in tensors_of([param]):
                key = _key(info)
                is_known = all(isinstance(dim, int) for dim in info.shape)
                shared = isinstance(param, PackedInfo) or counts[key] > 1
                if is_known and (shared if inputs is None else position >= inputs):
                    spec = TensorSpec(key[1], info.dtype, info.scope)
                    found[key] = FixedTensor(info.name, "weight", spec.shape, spec.dtype, spec.scope, spec.nbytes, 0)
    return found


def is_weight(tensor: FixedTensor, weights: Weights) -> bool:
    """Whether an input is one of the weights."""
    return (tensor.name, tensor.shape, tensor.dtype, tensor.scope) in weights


def _key(info: TensorInfo) -> Key:
    return info.name, info.shape, info.dtype, info.scope  # type: ignore[return-value]
