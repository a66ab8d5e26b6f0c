"""Local and global memory shared by a work-group, with barriers where every work-item comes.

Between two barriers a work-item writes its own elements only, and reads any: nothing races.
"""

from __future__ import annotations

import numpy as np
import oracle

from ..generator import Generator
from ..parameters import Parameter
from ..productions import at_barrier, make_block, statement
from ..scope import Name
from ..tree import Expr, Stmt
from ..value_types import INTEGERS, Type
from .simple_statements import DEPTH

LOCAL = "barrier(CLK_LOCAL_MEM_FENCE);"


def _tile(g: Generator, type: Type, length: int) -> str:
    """A local array: declared in the kernel, or a parameter."""
    name = g.name("t")
    if g.choices.chance(0.4):
        g.choices.note("local/parameter")
        nbytes = length * type.stored * type.bits // 8
        g.parameter(Parameter(f"local {type} *{name}", name, oracle.Local(nbytes)))
    else:
        g.choices.note("local/array")
        g.locals.append(f"local {type} {name}[{length}];\n")
    return name


@statement("local tile", 1.5, at_barrier)
def _exchange(g: Generator, nesting: int) -> Stmt:
    """Everyone writes one element, then reads others'."""
    type, items = g.type(), g.features.group_items
    tile = _tile(g, type, items)
    factor = g.choices.pick([n for n in (1, 3, 5, 7) if np.gcd(n, items) == 1])
    value = g.expression(type, DEPTH)
    with g.scope.nested(uniform=True):
        g.scope.add(Name(type, f"{tile}[@u % {items}u]", False, "local/element"))
        g.scope.add(Name(type, f"{tile}[get_local_size(0) - 1 - get_local_id(0)]", False, "local/element"))
        body = make_block(g, nesting - 1, 1, 2)
    store = f"{tile}[(lid * {factor} + {g.choices.number(0, 5)}) % {items}] = "
    return Stmt((store, value, f";\n{LOCAL}\n", body, f"\n{LOCAL}"), whole=True)


@statement("local reduction", 0.8, at_barrier)
def _reduction(g: Generator, nesting: int) -> Stmt:
    """A tree over the group's first power of two of work-items."""
    type, items = g.type(integer=True), g.features.group_items
    tile, step, total = _tile(g, type, items), g.name("i"), g.name("v")
    update = g.choices.pick(("{a} ^= {b}", "{a} = max({a}, {b})", "{a} = min({b}, {a})", "{a} = hadd({a}, {b})", "{a} |= {b}"))
    half = 1 << (items.bit_length() - 2) if items > 1 else 0
    value = g.expression(type, DEPTH)
    inner = update.format(a=f"{tile}[lid]", b=f"{tile}[lid + {step}]")
    loop = f"for (int {step} = {half}; {step} > 0; {step} >>= 1) {{ if (lid < {step}) {inner}; {LOCAL} }}"
    g.scope.add(Name(type, total))
    return Stmt((f"{tile}[lid] = ", value, f"; {LOCAL}\n{loop}\n{type} {total} = {tile}[0]; {LOCAL}"), whole=True)


@statement("global exchange", 0.6, at_barrier)
def _global_exchange(g: Generator, nesting: int) -> Stmt:
    """As a tile, through the group's part of a global buffer."""
    type, items = g.type(width=1), g.features.group_items
    name, value, read = g.name("g"), g.expression(type, DEPTH), g.name("v")
    buffer = oracle.Buffer(np.zeros(g.features.items, type.dtype))
    g.parameter(Parameter(f"global {type} *{name}", name, buffer))
    index = g.expression(Type("uint"), 2)
    g.scope.add(Name(type, read))
    fence = "barrier(CLK_GLOBAL_MEM_FENCE);"
    between = f"; {fence}\n{type} {read} = {name}[grp * {items} + "
    return Stmt((f"{name}[gid] = ", value, between, index, f" % {items}u]; {fence}"), whole=True)


@statement("async copy", 0.4, at_barrier)
def _async_copy(g: Generator, nesting: int) -> Stmt:
    """Inputs copied to local memory by the group."""
    type, items = g.type(width=1), g.features.group_items
    tile, event = _tile(g, type, items), g.name("e")
    strided = g.choices.chance(0.3)
    copy = f"async_work_group_strided_copy({tile}, in_{type} + grp, {items}, 3, 0)" if strided else (
        f"async_work_group_copy({tile}, in_{type} + 2 * grp, {items}, 0)"
    )  # fmt: skip
    g.choices.note("local/strided copy" if strided else "local/copy")
    read, index = g.name("v"), g.expression(Type("uint"), 2)
    g.scope.add(Name(type, read))
    start = f"event_t {event} = {copy}; wait_group_events(1, &{event});\n{type} {read} = {tile}["
    return Stmt((start, index, f" % {items}u]; {LOCAL}"), whole=True)


@statement("work-group function", 0.6, lambda g: at_barrier(g) and "work-group functions" in g.features.can)
def _collective(g: Generator, nesting: int) -> Stmt:
    """Integers only: floating-point sums depend on their order."""
    type = Type(g.choices.pick([kind for kind in INTEGERS if Type(kind).bits >= 32]))
    name = g.choices.pick(("reduce_add", "reduce_min", "reduce_max", "scan_inclusive_max", "scan_exclusive_add", "any", "all"))
    g.choices.note(f"group/{name}")
    if name in ("any", "all"):
        type = Type("int")
    value, result = g.expression(type, DEPTH), g.name("v")
    if name.endswith("add") and type.signed == type:  # a sum that cannot overflow
        value = Expr(type, ("(", value, f" >> ({type})6)"))
    g.scope.add(Name(type, result))
    if name in ("any", "all"):  # what is not zero need not be the same
        return Stmt((f"int {result} = work_group_{name}((", value, ") != 0) != 0;"), whole=True)
    return Stmt((f"{type} {result} = work_group_{name}(", value, ");"), whole=True)
