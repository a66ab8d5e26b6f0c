"""Structs and unions in global, constant and local memory, by value, as arguments and results of functions, and copied."""

from __future__ import annotations

import numpy as np
import oracle

from ..generator import Generator
from ..parameters import Parameter
from ..productions import at_barrier, in_kernel, make_block, statement
from ..scope import Name
from ..tree import Block, Expr, Function, Stmt
from ..value_types import INT, Type
from .local_memory import LOCAL
from .records import Record, initialiser, make_record

RECORDS = 16


def _add_names(g: Generator, record: Record, access: str, construct: str, writable: bool = False) -> None:
    for path, type in record.names():
        g.scope.add(Name(type, access + path, writable, construct))


def _random(g: Generator) -> np.random.Generator:
    return np.random.default_rng(g.choices.number(0, 2**31))


@statement("records to read", 0.6, in_kernel)
def _input(g: Generator, nesting: int) -> Stmt:
    """A buffer of records, global or constant; one of them copied whole."""
    record, name, copy = make_record(g), g.name("g"), g.name("s")
    space = g.choices.pick(("global const", "constant"))
    buffer = oracle.Buffer(record.contents(RECORDS, _random(g)), output=False)
    g.parameter(Parameter(f"{space} {record.spelled} *{name}", name, buffer))
    construct = f"record/{space.split()[0]}"
    _add_names(g, record, f"{name}[@u % {RECORDS}u]", construct)
    index = g.expression(Type("uint"), 2)
    _add_names(g, record, copy, f"{construct} copied", writable=True)
    return Stmt((f"{record.spelled} {copy} = {name}[", index, f" % {RECORDS}u];"), whole=True)


@statement("records to write", 0.6, lambda g: in_kernel(g) and g.scope.loops == 0)
def _output(g: Generator, nesting: int) -> Stmt:
    """A record for each work-item, written whole or member by member, through a pointer or not, and read again."""
    record, name, made = make_record(g), g.name("g"), g.name("s")
    buffer = oracle.Buffer(record.contents(g.features.items, _random(g)))
    g.parameter(Parameter(f"global {record.spelled} *{name}", name, buffer, record.layout))
    parts: list[str | Expr] = [f"{record.spelled} {made} = ", *initialiser(g, record), ";"]
    target = f"{name}[gid]"
    if g.choices.chance(0.4):
        pointer = g.name("p")
        parts.append(f" global {record.spelled} *{pointer} = {name} + gid;")
        target = f"(*{pointer})"
    if g.choices.chance(0.5):
        parts.append(f" {target} = {made};")
        g.choices.note("record/written whole")
    else:
        g.choices.note("record/written by member")
        parts += [f" {target}.{member.name} = {made}.{member.name};" for member in record.members if not member.count]
    _add_names(g, record, target, "record/own", writable=True)
    return Stmt(tuple(parts), whole=True)


@statement("local records", 0.5, at_barrier)
def _local(g: Generator, nesting: int) -> Stmt:
    """Everyone writes one record, then reads members of others'."""
    record, items, made = make_record(g), g.features.group_items, g.name("s")
    tile = g.name("t")
    if g.choices.chance(0.4):
        g.parameter(Parameter(f"local {record.spelled} *{tile}", tile, oracle.Local(items * record.nbytes)))
    else:
        g.locals.append(f"local {record.spelled} {tile}[{items}];\n")
    values = initialiser(g, record)
    with g.scope.nested(uniform=True):
        _add_names(g, record, f"{tile}[@u % {items}u]", "record/local")
        body = make_block(g, nesting - 1, 1, 2)
    start = (f"{record.spelled} {made} = ", *values, f"; {tile}[lid] = {made};\n{LOCAL}\n")
    return Stmt((*start, body, f"\n{LOCAL}"), whole=True)


@statement("constant records", 0.4, in_kernel)
def _constant(g: Generator, nesting: int) -> Stmt:
    """An array of four at program scope, and a copy of one."""
    record, name, copy = make_record(g), f"{g.prefix}{g.name('c')}", g.name("s")
    values = ", ".join(_constant_text(g, record) for _ in range(4))
    g.declarations.append(f"constant {record.spelled} {name}[4] = {{{values}}};\n")
    index = g.expression(Type("uint"), 2)
    _add_names(g, record, f"{name}[@i & 3]", "record/program scope")
    _add_names(g, record, copy, "record/program scope copied", writable=True)
    return Stmt((f"{record.spelled} {copy} = {name}[", index, " & 3u];"), whole=True)


def _constant_text(g: Generator, record: Record) -> str:
    parts = []
    for member in record.members[: 1 if record.union else None]:
        type = member.type
        made = [_constant_text(g, type) if isinstance(type, Record) else g.constant(type) for _ in range(member.count or 1)]
        parts.append(f"{{{', '.join(made)}}}" if member.count else made[0])
    return f"{{{', '.join(parts)}}}"


@statement("record by value", 0.4, in_kernel)
def _by_value(g: Generator, nesting: int) -> Stmt:
    """A struct as an argument of the kernel, and a private copy of it."""
    record, name, copy = make_record(g), g.name("g"), g.name("s")
    value = record.contents(1, _random(g)).view(f"V{record.nbytes}")[0]
    g.parameter(Parameter(f"{record.spelled} {name}", name, oracle.Scalar(value)))
    _add_names(g, record, name, "record/by value")
    _add_names(g, record, copy, "record/by value copied", writable=True)
    return Stmt((f"{record.spelled} {copy} = {name};",))


@statement("function of records", 0.4, in_kernel)
def _function(g: Generator, nesting: int) -> Stmt:
    """A function that takes a struct by value and another by pointer, and returns a struct."""
    record, name = make_record(g), f"{g.prefix}{g.name('f')}"
    first, second, result = g.name("s"), g.name("s"), g.name("s")
    plain = [member.name for member in record.members if not member.count]
    swaps = [f" x.{member} = y->{member};" if member == plain[0] else f" y->{member} = x.{member};" for member in plain]
    head = f"{record.spelled} {name}({record.spelled} x, {record.spelled} *y)"
    g.functions.append(Function(head, Block((Stmt(("".join(swaps),)),)), Expr(INT, ("x",))))
    call = f" {record.spelled} {result} = {name}({first}, &{second});"
    parts: list[str | Expr] = []
    for variable in (first, second):
        parts += [f"{record.spelled} {variable} = ", *initialiser(g, record), "; "]
    _add_names(g, record, result, "record/returned", writable=True)
    _add_names(g, record, second, "record/through pointer", writable=True)
    return Stmt((*parts, call), whole=True)
