"""Atomic functions whose end result does not depend on the order of work-items: one commutative operation per cell."""

from __future__ import annotations

import numpy as np
import oracle

from ..generator import Generator
from ..parameters import Parameter
from ..productions import at_barrier, in_kernel, statement
from ..scope import Name
from ..tree import Stmt
from ..value_types import Type
from .local_memory import LOCAL

COMMUTATIVE = ("add", "sub", "min", "max", "and", "or", "xor", "inc", "dec")
CELLS = 4


def _call(operation: str, pointer: str) -> tuple[str, str]:
    """Text before and after the operand; inc and dec have none, and get a constant condition around."""
    if operation in ("inc", "dec"):
        return f"if (({pointer} != 0) | (", f" > 0)) atomic_{operation}({pointer});"
    return f"atomic_{operation}({pointer}, ", ");"


@statement("global atomic", 0.7, lambda g: in_kernel(g) and g.scope.loops < 2)
def _global(g: Generator, nesting: int) -> Stmt:
    type = Type(g.choices.pick(("int", "uint")))
    name, operation = g.name("g"), g.choices.pick(COMMUTATIVE)
    g.choices.note(f"atomic/{operation}")
    start = np.full(CELLS, 37, type.dtype)
    g.parameter(Parameter(f"volatile global {type} *{name}", name, oracle.Buffer(start)))
    before, after = _call(operation, f"{name} + cell")
    return Stmt(("{ uint cell = ", g.expression(Type("uint"), 2), f" % {CELLS}u; {before}", g.expression(type, 2), after, " }"))


@statement("local atomic", 0.7, at_barrier)
def _local(g: Generator, nesting: int) -> Stmt:
    """Cells that one work-item clears, all add to, all read."""
    type = Type(g.choices.pick(("int", "uint")))
    name, operation, read = g.name("t"), g.choices.pick(COMMUTATIVE), g.name("v")
    g.choices.note(f"atomic/local {operation}")
    g.locals.append(f"local {type} {name}[{CELLS}];\n")
    before, after = _call(operation, f"{name} + (lid & {CELLS - 1})")
    value = g.expression(type, 2)
    g.scope.add(Name(type, read))
    clear = f"if (lid == 0) for (int i = 0; i < {CELLS}; i++) {name}[i] = 5; {LOCAL}\n{before}"
    return Stmt((clear, value, f"{after} {LOCAL}\n{type} {read} = {name}[lid * 3 & {CELLS - 1}]; {LOCAL}"), whole=True)


@statement("atomic of its own", 0.5, lambda g: in_kernel(g) and g.scope.loops == 0)
def _own(g: Generator, nesting: int) -> Stmt:
    """A cell for each work-item, so that the old values are known too."""
    type = Type(g.choices.pick(("int", "uint")))
    name, first, second = g.name("g"), g.name("v"), g.name("v")
    buffer = oracle.Buffer(np.arange(g.features.items, dtype=type.dtype))
    g.parameter(Parameter(f"volatile global {type} *{name}", name, buffer))
    value, compare = g.expression(type, 2), g.expression(type, 2)
    g.choices.note("atomic/xchg")
    g.choices.note("atomic/cmpxchg")
    g.scope.add(Name(type, first))
    g.scope.add(Name(type, second))
    exchange = f"{type} {first} = atomic_xchg({name} + gid, "
    return Stmt((exchange, value, f"); {type} {second} = atomic_cmpxchg({name} + gid, ", compare, f", ({type})77);"), whole=True)
