"""Sub-groups: how they lie is the implementation's, so results are judged by what it says of them, or do not depend on it."""

from __future__ import annotations

from ..generator import Generator
from ..productions import at_barrier, statement
from ..scope import Name
from ..tree import Check, Expr, Output, Stmt
from ..truth.collectives import COLLECTIVES
from ..value_types import INT, Type
from .local_memory import LOCAL
from .simple_statements import DEPTH

OWN = Check("", 0)


def _can(g: Generator) -> bool:
    return at_barrier(g) and "sub-groups" in g.features.can


@statement("sub-group function", 1.2, lambda g: _can(g) and g.scope.loops == 0)
def _function(g: Generator, nesting: int) -> Stmt:
    """A result of one function, beside the operands and the shape of the sub-group."""
    name = g.choices.pick(tuple(COLLECTIVES))
    g.choices.note(f"sub-group/{name[10:]}")
    kinds = ["int", "uint", "long", "ulong"]
    if not name.endswith("add"):
        # of halves only without optimisation: Intel's compiler dies of sub_group_scan_exclusive_min
        kinds += ["float", "half"] if g.features.half and not g.features.licence else ["float"]
    type = Type(g.choices.pick(kinds))
    if name.endswith(("any", "all", "ballot")):
        type = INT
    value = g.expression(type, DEPTH)
    if name.endswith("_add") and type.kind in ("int", "long"):  # a sum that cannot overflow
        value = Expr(type, ("(", value, f" >> ({type})8)"))
    if type.is_float:
        value = Expr(type, (f"plain_{type}(", value, ")"))
    x = g.name("x")
    queries = ("get_sub_group_id()", "get_sub_group_local_id()", "get_sub_group_size()")
    parts: list[object] = [f"{{ {type} {x} = ", value, "; "]
    parts += [Output(Expr(INT, (f"(int){query}",)), OWN) for query in queries]
    parts += [Output(Expr(type, (x,))), "\n"]
    result, text = type, f"{name}({x})"
    if name.endswith("broadcast"):
        text = f"{name}({x}, 0)"
    elif name.endswith("shuffle"):
        text = f"{name}({x}, (get_sub_group_local_id() * 3u + 1u) % get_sub_group_size())"
    elif name.endswith("xor"):
        text = f"{name}({x}, (get_sub_group_local_id() ^ 1u) < get_sub_group_size() ? 1u : 0u)"
    elif name.endswith(("any", "all")):
        text = f"({name}({x}) != 0)"
    elif name.endswith("ballot"):
        result, text = Type("uint"), f"{name}({x}).x"
    return Stmt((*parts, Output(Expr(result, (text,)), Check(name, 4)), " }"), whole=True)  # type: ignore[arg-type]


@statement("sub-group sum", 0.7, _can)
def _sum(g: Generator, nesting: int) -> Stmt:
    """Each sub-group's sum or maximum, put together by their first work-items: the group's, however it is divided."""
    type = Type(g.choices.pick(("int", "uint")))
    tile, read = g.name("t"), g.name("v")
    g.locals.append(f"local {type} {tile}[1];\n")
    operation = g.choices.pick(("add", "max", "min"))
    value = g.expression(type, DEPTH)
    if operation == "add" and type == INT:
        value = Expr(type, ("(", value, " >> 8)"))
    g.scope.add(Name(type, read))
    start = f"if (lid == 0) {tile}[0] = 0; {LOCAL}\n{{ {type} s = sub_group_reduce_{operation}("
    join = f"); sub_group_barrier(CLK_LOCAL_MEM_FENCE); if (get_sub_group_local_id() == 0) atomic_{operation}({tile}, s); }}"
    return Stmt((start, value, f"{join} {LOCAL}\n{type} {read} = {tile}[0]; {LOCAL}"), whole=True)
