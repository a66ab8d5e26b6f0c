"""Private arrays, structs, unions, and pointers into them; every index is masked to the array."""

from __future__ import annotations

from ..generator import Generator
from ..productions import in_kernel, statement
from ..scope import Name
from ..templates import expand
from ..tree import Expr, Stmt
from ..value_types import INT, Type


def _array(g: Generator, type: Type, length: int) -> tuple[str, Stmt]:
    """A declared and filled array, not yet in scope."""
    name, counter = g.name("a"), g.name("i")
    if g.choices.chance(0.5):
        g.choices.note("private/initialiser")
        parts: list[object] = [f"{type} {name}[{length}] = {{"]
        for _ in range(length):
            parts += [g.expression(type, 1), ", "]
        return name, Stmt((*parts, "};"), whole=True)  # type: ignore[arg-type]
    value = g.expression(type, 2)
    step = f"({type})({counter})" if type.kind != "half" else f"({type})((half){counter})"
    loop = f"{type} {name}[{length}]; for (int {counter} = 0; {counter} < {length}; {counter}++) {name}[{counter}] = "
    if not g.exact_sum(type):
        return name, Stmt((loop, value, ";"))
    operator = "+" if type.is_float else "^"
    if type.width > 1:
        return name, Stmt((loop, value, f" {operator} {step};"))
    return name, Stmt((loop, f"({type})(", value, f" {operator} {step});"))


@statement("array", 1.5)
def _array_variable(g: Generator, nesting: int) -> Stmt:
    type, length = g.type(), g.choices.pick((2, 4, 8))
    name, made = _array(g, type, length)
    g.scope.add(Name(type, f"{name}[@i & {length - 1}]", construct="private/array element"))
    if type.width == 1:
        for width in (2, 4):
            if width <= length:
                text = f"vload{width}(@i & {length // width - 1}, {name})"
                g.scope.add(Name(type.wide(width), text, False, "private/vload"))
    if not type.is_float:
        bytes = length * type.stored * type.bits // 8
        if type.width != 3:
            g.scope.add(Name(Type("uchar"), f"((uchar *){name})[@i & {bytes - 1}]", False, "private/bytes of an array"))
    return made


@statement("vstore to array", 0.7)
def _vstore(g: Generator, nesting: int) -> Stmt:
    """An array that vstore fills in part."""
    type = g.type(width=1)
    name, made = _array(g, type, 8)
    width = g.choices.pick((2, 3, 4, 8))
    value, index = g.expression(type.wide(width), 2), g.expression(INT, 2)
    g.scope.add(Name(type, f"{name}[@i & 7]", construct="private/array element"))
    return Stmt((made, f" vstore{width}(", value, ", ", index, f" & {8 // width - 1}, {name});"), whole=True)


@statement("pointer into array", 1)
def _pointer(g: Generator, nesting: int) -> Stmt:
    type = g.type()
    name, made = _array(g, type, 8)
    pointer = g.name("p")
    start = g.expression(INT, 2)
    form = g.choices.pick(("{n} + ({o} & 3)", "&{n}[{o} & 3]", "{n} + 7 - 4 - ({o} & 3)"))
    before, after = form.format(n=name, o="\0").split("\0")
    step = g.choices.pick(("", f" {pointer}++;", f" {pointer} += 1;"))
    g.scope.add(Name(type, f"{pointer}[@i & 3]", construct="private/through pointer"))
    g.scope.add(Name(type, f"(*({pointer} + (@i & 1)))", construct="private/through pointer"))
    g.scope.add(Name(INT, f"((int)({pointer} - {name}))", False, "private/pointer difference"))
    return Stmt((made, f" {type} *{pointer} = {before}", start, f"{after};{step}"), whole=True)


@statement("pointer to one of two arrays", 0.7)
def _pointer_choice(g: Generator, nesting: int) -> Stmt:
    type = g.type()
    (first, made), (second, also) = _array(g, type, 4), _array(g, type, 8)
    pointer = g.name("p")
    condition = g.condition(2)
    g.scope.add(Name(type, f"{pointer}[@i & 3]", construct="private/through chosen pointer"))
    return Stmt((made, " ", also, f" {type} *{pointer} = ", condition, f" ? {first} : {second} + 4;"), whole=True)


@statement("pointer walk", 0.7)
def _walk(g: Generator, nesting: int) -> Stmt:
    """A loop over an array by pointer."""
    type = g.type()
    name, made = _array(g, type, 4)
    total, at = g.name("v"), g.name("p")
    update = f"{total} = {total} * ({type})0.5f + *{at};" if type.is_float else f"{total} ^= *{at};"
    start = g.expression(type, 1)
    loop = f" for ({type} *{at} = {name}; {at} != {name} + 4; {at}++) {update}"
    g.scope.add(Name(type, total))
    return Stmt((made, f" {type} {total} = ", start, ";", loop), whole=True)


@statement("pointer to input", 0.8, in_kernel)
def _input_pointer(g: Generator, nesting: int) -> Stmt:
    type = g.type()
    pointer, start = g.name("p"), g.expression(INT, 2)
    if type.width == 1:
        made = (f"global const {type} *{pointer} = in_{type} + (", start, " & 63);")
    else:
        made = (f"global const {type} *{pointer} = (global const {type} *)in_{type.kind} + (", start, " & 3);")
    g.scope.add(Name(type, f"{pointer}[@i & 7]", False, "load/through pointer"))
    return Stmt(made)


@statement("struct", 1)
def _struct(g: Generator, nesting: int) -> Stmt:
    """A struct variable with a nested array; a copy of it, a pointer to it, or an array of them."""
    kind, name = f"{g.prefix}{g.name('s')}", g.name("s")
    types = [g.type() for _ in range(g.choices.number(2, 4))]
    inner = g.type(width=1)
    fields = "".join(f" {type} f{index};" for index, type in enumerate(types))
    g.declarations.append(f"struct {kind} {{{fields} {inner} last[4]; }};\n")
    parts: list[object] = [f"struct {kind} {name} = {{"]
    for type in types:
        parts += [g.expression(type, 2), ", "]
    parts += ["{", g.expression(inner, 1), ", ", g.expression(inner, 1), f", ({inner})3, ({inner})4}}}};"]
    access = name
    form = g.choices.pick(("itself", "copy", "pointer", "array"))
    g.choices.note(f"struct/{form}")
    if form == "copy":
        access = g.name("s")
        parts.append(f" struct {kind} {access} = {name}; {name}.last[1] = ({inner})9;")
    elif form == "pointer":
        pointer = g.name("p")
        parts.append(f" struct {kind} *{pointer} = &{name};")
        access = f"(*{pointer})"
    elif form == "array":
        array = g.name("a")
        parts.append(f" struct {kind} {array}[2] = {{{name}, {name}}}; {array}[1].last[0] = ({inner})7;")
        access = f"{array}[@i & 1]"
    for index, type in enumerate(types):
        g.scope.add(Name(type, f"{access}.f{index}", construct="struct/field"))
    g.scope.add(Name(inner, f"{access}.last[@i & 3]", construct="struct/array field"))
    return Stmt(tuple(parts), whole=True)  # type: ignore[arg-type]


@statement("union", 0.6)
def _union(g: Generator, nesting: int) -> Stmt:
    """Eight bytes seen as several types."""
    name = g.name("u")
    views = [Type("uint", 2), Type("uchar", 8), Type("short", 4), Type("long"), Type("int", 2), Type("ulong")]
    chosen = g.choices.sample(views, 3)
    fields = " ".join(f"{type} f{index};" for index, type in enumerate(chosen))
    value = g.expression(chosen[0], 2)
    for index, type in enumerate(chosen):
        g.scope.add(Name(type, f"{name}.f{index}", construct="union/field"))
    return Stmt((f"union {{ {fields} }} {name}; {name}.f0 = ", value, ";"))


def constant_array(g: Generator, type: Type) -> Name:
    """A program-scope constant array of eight elements."""
    name = f"{g.prefix}{g.name('c')}"
    text = ", ".join(g.constant(type) for _ in range(8))
    g.declarations.append(f"constant {type} {name}[8] = {{{text}}};\n")
    return Name(type, f"{name}[@i & 7]", False, "constant/array element")


@statement("constant array", 0.6)
def _constant(g: Generator, nesting: int) -> Stmt:
    type = g.type()
    if f"constant/array element:{type.width}" in g.features.avoid:
        type = type.wide(4)
    found = constant_array(g, type)
    variable = g.name("v")
    value = Expr(type, expand(g, found.text, type, 2))
    g.choices.note(found.construct)
    g.scope.add(found)
    g.scope.add(Name(type, variable))
    return Stmt((f"{type} {variable} = ", value, ";"))
