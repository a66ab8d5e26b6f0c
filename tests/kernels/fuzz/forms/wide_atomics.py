"""Atomics of 64 bits, and those of C11: one commutative operation per cell, or a cell for each work-item."""

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

COMMUTATIVE = ("add", "sub", "min", "max", "and", "or", "xor")
CELLS = 4
OPERATIONS = ("load", "store", "exchange", "compare_exchange_strong", "fetch_add", "fetch_max", "fetch_xor")
ORDERS = ("memory_order_relaxed", "memory_order_acq_rel", "memory_order_seq_cst")


def _cells(g: Generator, type: Type, declared: str, count: int, start: int) -> str:
    name = g.name("g")
    values = np.full(count, start, type.dtype) if start else np.arange(count, dtype=type.dtype)
    g.parameter(Parameter(f"volatile global {declared} *{name}", name, oracle.Buffer(values)))
    return name


def _wide(g: Generator) -> bool:
    return in_kernel(g) and "64-bit atomics" in g.features.can


@statement("64-bit atomic", 0.5, lambda g: _wide(g) and g.scope.loops < 2)
def _shared(g: Generator, nesting: int) -> Stmt:
    type = Type(g.choices.pick(("long", "ulong")))
    name, operation = _cells(g, type, str(type), CELLS, 37), g.choices.pick(COMMUTATIVE)
    g.choices.note(f"64-bit atomic/{operation}")
    cell = g.expression(Type("uint"), 2)
    return Stmt((f"atom_{operation}({name} + ", cell, f" % {CELLS}u, ", g.expression(type, 2), ");"))


@statement("64-bit atomic of its own", 0.4, lambda g: _wide(g) and g.scope.loops == 0)
def _own(g: Generator, nesting: int) -> Stmt:
    """A cell for each work-item, so that the old values are known too."""
    type = Type(g.choices.pick(("long", "ulong")))
    name, first, second, third = _cells(g, type, str(type), g.features.items, 0), g.name("v"), g.name("v"), g.name("v")
    operation = g.choices.pick((*COMMUTATIVE, "xchg"))
    g.choices.note(f"64-bit atomic/own {operation}")
    value, compare = g.expression(type, 2), g.expression(type, 2)
    for read in (first, second, third):
        g.scope.add(Name(type, read))
    change = (f"{type} {first} = atom_{operation}({name} + gid, ", value, "); ")
    exchange = (f"{type} {second} = atom_cmpxchg({name} + gid, ", compare, f", ({type})77); ")
    return Stmt((*change, *exchange, f"{type} {third} = atom_inc({name} + gid);"), whole=True)


@statement("64-bit local atomic", 0.4, lambda g: at_barrier(g) and _wide(g))
def _local(g: Generator, nesting: int) -> Stmt:
    type = Type(g.choices.pick(("long", "ulong")))
    name, operation, read = g.name("t"), g.choices.pick(COMMUTATIVE), g.name("v")
    g.choices.note(f"64-bit atomic/local {operation}")
    g.locals.append(f"local {type} {name}[{CELLS}];\n")
    value = g.expression(type, 2)
    g.scope.add(Name(type, read))
    clear = f"if (lid == 0) for (int i = 0; i < {CELLS}; i++) {name}[i] = 5; {LOCAL}\n"
    change = f"atom_{operation}({name} + (lid & {CELLS - 1}), "
    return Stmt((clear + change, value, f"); {LOCAL}\n{type} {read} = {name}[lid * 3 & {CELLS - 1}]; {LOCAL}"), whole=True)


def _c11(g: Generator) -> bool:
    return in_kernel(g) and "C11 atomics" in g.features.can


def _ending(g: Generator) -> str:
    """The rest of a call's name and of its arguments, between which the operands stand."""
    if g.choices.chance(0.3):
        return "(\0)"
    return f"_explicit(\0, {g.choices.pick(ORDERS)}, {g.choices.pick(('memory_scope_device', 'memory_scope_work_group'))})"


@statement("C11 atomic", 0.6, lambda g: _c11(g) and g.scope.loops < 2)
def _c11_shared(g: Generator, nesting: int) -> Stmt:
    type = Type(g.choices.pick(("int", "uint", "long", "ulong")))
    name, operation = _cells(g, type, f"atomic_{type}", CELLS, 37), g.choices.pick(COMMUTATIVE)
    g.choices.note(f"C11 atomic/{operation}")
    ending = _ending(g).replace("memory_scope_work_group", "memory_scope_device")
    before, after = f"atomic_fetch_{operation}{ending}".split("\0")
    cell = g.expression(Type("uint"), 2)
    return Stmt((f"{before}{name} + ", cell, f" % {CELLS}u, ", g.expression(type, 2), f"{after};"))


@statement("C11 atomic of its own", 0.6, lambda g: _c11(g) and g.scope.loops == 0)
def _c11_own(g: Generator, nesting: int) -> Stmt:
    """Store, load, exchange, compare and exchange, fetch: on a cell of each work-item."""
    type = Type(g.choices.pick(("int", "uint", "long", "ulong")))
    name = _cells(g, type, f"atomic_{type}", g.features.items, 0)
    parts: list[object] = []
    for operation in g.choices.sample(OPERATIONS, 4):
        g.choices.note(f"C11 atomic/own {operation}")
        parts += [*_step(g, type, operation, f"{name} + gid"), " "]
    return Stmt(tuple(parts), whole=True)  # type: ignore[arg-type]


def _step(g: Generator, type: Type, operation: str, cell: str) -> tuple[object, ...]:
    read = g.name("v")
    if operation == "compare_exchange_strong":
        wanted = g.expression(type, 2)
        g.scope.add(Name(type, read))
        g.scope.add(Name(Type("int"), f"(({type})7 < {read})", False))
        scope = ", memory_order_acq_rel, memory_order_relaxed, memory_scope_device"
        name, orders = g.choices.pick((("", ""), ("_explicit", scope)))
        return (f"{type} {read} = ", wanted, f"; atomic_{operation}{name}({cell}, &{read}, ({type})77{orders});")
    if operation == "store":
        return (f"atomic_store_explicit({cell}, ", g.expression(type, 2), ", memory_order_release, memory_scope_device);")
    if operation == "load":
        g.scope.add(Name(type, read))
        return (f"{type} {read} = atomic_load_explicit({cell}, memory_order_acquire, memory_scope_device);",)
    before, after = f"atomic_{operation}{_ending(g)}".split("\0")
    value = g.expression(type, 2)
    g.scope.add(Name(type, read))
    return (f"{type} {read} = {before}{cell}, ", value, f"{after};")


@statement("C11 local atomic", 0.4, lambda g: at_barrier(g) and _c11(g))
def _c11_local(g: Generator, nesting: int) -> Stmt:
    type = Type(g.choices.pick(("int", "uint", "long", "ulong")))
    name, operation, read = g.name("t"), g.choices.pick(COMMUTATIVE), g.name("v")
    g.choices.note(f"C11 atomic/local {operation}")
    g.locals.append(f"local atomic_{type} {name}[{CELLS}];\n")
    value = g.expression(type, 2)
    g.scope.add(Name(type, read))
    before, after = f"atomic_fetch_{operation}{_ending(g)}".split("\0")
    clear = f"if (lid == 0) for (int i = 0; i < {CELLS}; i++) atomic_init({name} + i, ({type})5); {LOCAL}\n"
    load = f"atomic_load_explicit({name} + (lid * 3 & {CELLS - 1}), memory_order_relaxed, memory_scope_work_group)"
    change = f"{before}{name} + (lid & {CELLS - 1}), "
    return Stmt((clear + change, value, f"{after}; {LOCAL}\n{type} {read} = {load}; {LOCAL}"), whole=True)
