"""Reads that a choice guards from outside: a gather fills a tensor, and a later `where` takes only some elements of it.

TVM lowers slice_scatter and circular padding so: the gather clips its indices to the wrong extent, and the elements that it reads
outside of its tensor are selected nowhere. A schedule computes such a gather inside the choice, which evaluates one side, as the
truth also does: what no result depends on is not computed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import field
from typing import Any

from ...compiler.tvm_bridge import read
from ...compiler.tvm_bridge.read_once import ReadNode, read_once
from ...compiler.tvm_bridge.versions import import_tvm
from ...records import dataclass


@dataclass
class _Made:
    """A temporary tensor that one block computes element by element. gathers: at an index that is not a loop's variable.

    reads: keys of the tensors that it reads; unguarded: those that it reads whatever it chooses.
    """

    block: str
    gathers: bool = False
    reads: set[int] = field(default_factory=set)
    unguarded: set[int] = field(default_factory=set)


def compute_where_chosen(function: ReadNode) -> ReadNode:
    """Returns a PrimFunc in which gathers that only choices read are computed inside these; itself if it has none."""
    names = _find_guarded_gathers(function)
    if not names:
        return function
    tvm = import_tvm()
    schedule = tvm.s_tir.Schedule(function.of_tvm)
    for name in names:
        with contextlib.suppress(tvm.s_tir.ScheduleError):
            schedule.compute_inline(schedule.get_sblock(name))
    inlined: ReadNode = read_once(schedule.mod["main"])
    return inlined


def _find_guarded_gathers(function: Any) -> list[str]:
    """The blocks to compute inside choices, producers before consumers."""
    made: dict[int, _Made] = {}
    others: list[_Made] = []  # blocks that fill a tensor in parts, sum, or write a result
    results = {info.key for param in function.params if (info := read.buffer_param(function, param)) is not None}
    for realize in _innermost_blocks(function.body):
        block = realize.block
        stores = [node for node in read.walk(block) if read.kind(node) == "BufferStore"]
        found = _Made(str(block.name_hint))
        for store in stores:
            _note_reads(found, store.value, guarded=False)
        keys = {read.buffer_key(store.buffer) for store in stores}
        alone = len(stores) == 1 and all(int(axis.iter_type) == 0 for axis in block.iter_vars)
        if alone and not keys & (results | made.keys()):
            made[keys.pop()] = found
        else:
            others += [found, *(made.pop(key) for key in keys & made.keys())]
    lazy = set(made)
    while exposed := {key for key in lazy if any(key in user.unguarded for user in _users(made, others, lazy))}:
        lazy -= exposed
    wanted: list[int] = []
    for key, found in made.items():
        if key in lazy and (found.gathers or found.reads & set(wanted)):
            wanted.append(key)
    return [made[key].block for key in wanted]


def _users(made: dict[int, _Made], others: list[_Made], lazy: set[int]) -> Iterator[_Made]:
    """The blocks that compute all their elements, whether these are chosen or not."""
    yield from others
    yield from (found for key, found in made.items() if key not in lazy)


def _innermost_blocks(node: Any) -> list[Any]:
    """The blocks without blocks inside, in their order."""
    within = [block for child in read.children(node) for block in _innermost_blocks(child)]
    return [node] if not within and read.kind(node).endswith("BlockRealize") else within


def _note_reads(found: _Made, node: Any, guarded: bool) -> None:
    kind = read.kind(node)
    if kind in ("TensorLoad", "BufferLoad"):
        key = read.buffer_key(read.loaded_buffer(node))
        found.reads.add(key)
        if not guarded:
            found.unguarded.add(key)
        found.gathers |= any(read.kind(index) not in ("Var", "IntImm") for index in node.indices)
    first, *arms = _operands(node)
    for operand in first:
        _note_reads(found, operand, guarded)
    for operand in arms:
        _note_reads(found, operand, True)


def _operands(node: Any) -> list[Any]:
    """The operands that are always evaluated, as a list, and then those that a choice evaluates one of."""
    kind = read.kind(node)
    if kind == "Select":
        return [[node.condition], node.true_value, node.false_value]
    if kind == "Call" and read.op_name(node).rpartition(".")[2] == "if_then_else":
        return [[node.args[0]], *list(node.args)[1:]]
    if kind in ("And", "Or"):
        return [[node.a], node.b]
    return [list(read.children(node))]
