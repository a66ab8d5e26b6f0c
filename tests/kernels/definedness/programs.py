"""Random kernels of which some values are undefined: an abstract syntax of tuples, and its text in OpenCL C.

All numbers are unsigned, 32 bits wide. Expressions: ("number", n); ("name", variable); ("lane", vector, n);
("element", array, index); ("member", struct, field); ("tile", n): of local memory, n places on; ("given", n): of the input,
n places on; (operator, a, b); ("choose", c, a, b), a branch; ("select", c, a, b), which is none; ("half", a): by way of floats;
("help", a, b): by a function; ("entry", array of structs, index, field); ("bytes", a): in the other order; ("wide", a, b): the
upper half of a sum of 64 bits; (function, a, b) of FUNCTIONS.
Statements are described where they are made. A kernel is a list of phases with barriers between.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

ITEMS, GROUP, OUTPUTS, LENGTH, ENTRIES = 16, 8, 4, 4, 2
SCALARS, VECTORS, ARRAYS, STRUCTS, TABLES = ("a", "b", "c", "d"), ("v", "w"), ("p", "q"), ("s", "t"), ("m",)
FIELDS = {"one": 32, "low": 8, "high": 16, "two": 32}
"""Members of a struct, with their bits: padding lies between two."""

OPERATORS = ("+", "-", "*", "&", "|", "^", "<<", ">>", "/", "<", "==", "!=")
FUNCTIONS = ("max", "min", "mul_hi")
"""Of two numbers; the result is undefined throughout where an operand is at all."""
Expr = tuple
Statement = tuple


@dataclass(frozen=True)
class Program:
    """phases: lists of statements. written: how many elements of the input somebody has written."""

    phases: list[list[Statement]]
    written: int

    def text(self) -> str:
        body = "\n  barrier(CLK_LOCAL_MEM_FENCE);\n".join("\n".join(map(_statement, phase)) for phase in self.phases)
        return HEAD + body + "\n}\n"


HEAD = f"""typedef struct {{ uint one; uchar low; ushort high; uint two; }} S;
uint help(uint a, uint b) {{ uint r; if (a & 1) r = b; return r; }}
__kernel void k(__global const uint *given, __global uint *out) {{
  __local uint tile[{GROUP}];
  const uint me = get_global_id(0), at = get_local_id(0);
  uint a, b, c, d; uint4 v, w; uint p[{LENGTH}], q[{LENGTH}]; S s, t, m[{ENTRIES}];
"""


def _expr(e: Expr) -> str:
    kind, *rest = e
    if kind == "number":
        return f"{rest[0]}u"
    if kind == "name":
        return rest[0]
    if kind == "lane":
        return f"{rest[0]}.{'xyzw'[rest[1]]}"
    if kind == "element":
        return f"{rest[0]}[{_expr(rest[1])} & {LENGTH - 1}]"
    if kind == "member":
        return f"(uint){rest[0]}.{rest[1]}"
    if kind == "entry":
        return f"(uint){rest[0]}[{_expr(rest[1])} & {ENTRIES - 1}].{rest[2]}"
    if kind == "tile":
        return f"tile[(at + {rest[0]}) & {GROUP - 1}]"
    if kind == "given":
        return f"given[(me + {rest[0]}) & {ITEMS - 1}]"
    return _computed(kind, [_expr(part) for part in rest])


def _computed(kind: str, parts: list[str]) -> str:
    if kind == "choose":
        return "({} ? {} : {})".format(*parts)
    if kind == "select":
        return "select({2}, {1}, {0})".format(*parts)
    if kind == "half":
        return "(uint)((float)({} & 1023u) * 0.5f)".format(*parts)
    if kind == "bytes":
        return "as_uint(as_uchar4({}).wzyx)".format(*parts)
    if kind == "wide":
        return "(uint)(((ulong){0} * 3 + (ulong){1} * {1}) >> 32)".format(*parts)
    if kind == "help" or kind in FUNCTIONS:
        return f"{kind}({', '.join(parts)})"
    if kind == "/":
        return "({} / (({} & 7u) + 1u))".format(*parts)
    if kind in ("<<", ">>"):
        return f"({parts[0]} {kind} ({parts[1]} & 31u))"
    return f"(uint)({parts[0]} {kind} {parts[1]})"


def _statement(s: Statement) -> str:
    kind, *rest = s
    if kind == "set":
        return f"  {_expr(rest[0]).removeprefix('(uint)')} = {_expr(rest[1])};"
    if kind == "if":
        return f"  if ({_expr(rest[0])}) {{\n{_block(rest[1])}\n  }} else {{\n{_block(rest[2])}\n  }}"
    if kind == "for":
        fresh = "uint z;" if rest[2] else ""
        stop = f"\n  if ({_expr(rest[4])}) break;" if rest[4] else ""
        return f"  for (uint {rest[0]} = 0; {rest[0]} < {rest[1]}; {rest[0]}++) {{ {fresh}\n{_block(rest[3])}{stop}\n  }}"
    if kind == "lanes":
        return f"  {rest[0]} = {rest[2]} {rest[1]} {rest[3]};"
    if kind == "shuffle":
        return f"  {rest[0]} = {rest[1]}.{''.join('xyzw'[n] for n in rest[2])};"
    if kind == "pick":
        function = "shuffle" if rest[1] == rest[2] else f"shuffle2({rest[1]}, {rest[2]}, "
        mask = f"(uint4)({', '.join(map(_expr, rest[3]))})"
        return f"  {rest[0]} = {function if function != 'shuffle' else f'shuffle({rest[1]}, '}{mask});"
    if kind == "select lanes":
        return f"  {rest[0]} = select({rest[2]}, {rest[1]}, {rest[3]});"
    if kind == "load":
        return f"  {rest[0]} = vload4(0, {rest[1]});"
    if kind == "keep":
        return f"  vstore4({rest[1]}, 0, {rest[0]});"
    if kind == "blend":
        return f"  {rest[0]} = (uint4)(me, me + 1, me + 2, me + 3) < (uint4)({rest[1]}) ? {rest[2]} : {rest[3]};"
    if kind == "copy":
        return f"  {rest[0]} = {rest[1]};"
    assert kind == "store"
    return f"  out[me * {OUTPUTS} + {rest[0]}] = {_expr(rest[1])};"


def _block(statements: list[Statement]) -> str:
    return "\n".join(map(_statement, statements))


class Maker:
    """Makes a program of a seed. Most conditions and indices are of what is defined, so that most programs run to their end."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.loops: list[str] = []
        self.fresh = 0

    def program(self) -> Program:
        r = self.random
        phases = [[*self._assignments(), *self._block(r.randrange(4, 9), 0)]]
        for _ in range(r.randrange(3)):
            store: Statement = ("set", ("tile", r.randrange(GROUP)), ("name", r.choice(SCALARS)))
            if r.random() < 0.5:
                store = ("if", ("&", ("name", "at"), ("number", r.randrange(1, 4))), [store], [])
            phases += [[store], self._block(r.randrange(4, 9), 0)]
        phases[-1] += [self._output(place) for place in range(OUTPUTS)]
        return Program(phases, r.choice([ITEMS, ITEMS, ITEMS - 3, ITEMS // 2]))

    def _assignments(self) -> list[Statement]:
        """Gives most variables, in some kernels all, a value."""
        r = self.random
        places = [("name", name) for name in SCALARS] + [("lane", name, n) for name in VECTORS for n in range(4)]
        places += [("element", name, ("number", n)) for name in ARRAYS for n in range(LENGTH)]
        places += [("member", name, field) for name in STRUCTS for field in FIELDS]
        places += [("entry", name, ("number", n), field) for name in TABLES for n in range(ENTRIES) for field in FIELDS]
        most = r.choice([1.0, 1.0, 0.9, 0.6])
        values = [("name", "me"), ("name", "at"), ("number", r.getrandbits(32)), ("given", 0)]
        return [("set", place, r.choice(values)) for place in places if r.random() < most]

    def _output(self, place: int) -> Statement:
        store: Statement = ("store", place, self._expr(2))
        return ("if", self._condition(), [store], []) if self.random.random() < 0.5 else store

    def _block(self, count: int, depth: int) -> list[Statement]:
        return [self._statement(depth) for _ in range(count)]

    def _statement(self, depth: int) -> Statement:
        r = self.random
        roll = r.random()
        if depth < 2 and roll < 0.22:
            no = self._block(r.randrange(0, 2), depth + 1)
            return "if", self._condition(), self._block(r.randrange(1, 3), depth + 1), no
        if depth < 2 and roll < 0.32:
            name = f"i{len(self.loops)}"
            self.loops.append(name)
            fresh = not self.fresh and r.random() < 0.5
            self.fresh += fresh
            body = self._block(r.randrange(1, 3), depth + 1)
            self.fresh -= fresh
            stop = self._condition() if r.random() < 0.3 else ()
            self.loops.pop()
            return "for", name, r.randrange(1, 4), fresh, body, stop
        if roll < 0.42:
            return "lanes", r.choice(VECTORS), r.choice("+&|^"), r.choice(VECTORS), r.choice(VECTORS)
        if roll < 0.48:
            return "shuffle", r.choice(VECTORS), r.choice(VECTORS), tuple(r.randrange(4) for _ in range(4))
        if roll < 0.52:
            return "blend", r.choice(VECTORS), r.randrange(ITEMS), r.choice(VECTORS), r.choice(VECTORS)
        if roll < 0.56:
            return "copy", *r.sample(STRUCTS, 2)
        if roll < 0.62:
            return self._of_vectors()
        return "set", self._place(), self._expr(2)

    def _of_vectors(self) -> Statement:
        r = self.random
        kind = r.choice(["pick", "pick", "select lanes", "load", "keep"])
        if kind == "load":
            return kind, r.choice(VECTORS), r.choice(ARRAYS)
        if kind == "keep":
            return kind, r.choice(ARRAYS), r.choice(VECTORS)
        if kind == "select lanes":
            return kind, *(r.choice(VECTORS) for _ in range(4))
        mask = tuple(("number", r.randrange(8)) if r.random() < 0.7 else self._leaf() for _ in range(4))
        return kind, *(r.choice(VECTORS) for _ in range(3)), mask

    def _place(self) -> Expr:
        r = self.random
        kind = r.choice(["name", "name", "lane", "element", "member", "entry"])
        if kind == "name":
            return kind, "z" if self.fresh and r.random() < 0.4 else r.choice(SCALARS)
        if kind == "lane":
            return kind, r.choice(VECTORS), r.randrange(4)
        if kind == "element":
            return kind, r.choice(ARRAYS), self._index()
        if kind == "entry":
            return kind, r.choice(TABLES), self._index(), r.choice(list(FIELDS))
        return kind, r.choice(STRUCTS), r.choice(list(FIELDS))

    def _index(self) -> Expr:
        r = self.random
        roll = r.random()
        if roll < 0.5:
            return "number", r.randrange(LENGTH)
        if roll < 0.95:
            return "name", r.choice(["me", "at", *self.loops])
        return self._expr(1)

    def _condition(self) -> Expr:
        r = self.random
        roll = r.random()
        if roll < 0.45:
            return "<", ("name", "me"), ("number", r.randrange(ITEMS + 1))
        if roll < 0.9:
            return "&", ("name", r.choice(["me", "at", *self.loops])), ("number", r.randrange(1, 4))
        return self._expr(1)

    def _expr(self, depth: int) -> Expr:
        r = self.random
        if depth == 0 or r.random() < 0.25:
            return self._leaf()
        roll = r.random()
        if roll < 0.75:
            return r.choice(OPERATORS), self._expr(depth - 1), self._expr(depth - 1)
        if roll < 0.82:
            return "choose", self._condition(), self._expr(depth - 1), self._expr(depth - 1)
        if roll < 0.9:
            return "select", self._condition(), self._expr(depth - 1), self._expr(depth - 1)
        if roll < 0.92:
            return "half", self._expr(depth - 1)
        if roll < 0.94:
            return "bytes", self._expr(depth - 1)
        if roll < 0.97:
            return r.choice(("wide", *FUNCTIONS)), self._expr(depth - 1), self._expr(depth - 1)
        return "help", ("name", r.choice(["me", "at"])), self._expr(depth - 1)

    def _leaf(self) -> Expr:
        r = self.random
        roll = r.random()
        if roll < 0.25:
            return "number", r.choice([0, 1, 3, 15, 255, 0xFFFF0000, r.getrandbits(32)])
        if roll < 0.45:
            return "name", r.choice(["me", "at", *self.loops])
        if roll < 0.55:
            return "given", r.randrange(ITEMS)
        if roll < 0.62:
            return "tile", r.randrange(GROUP)
        return self._place()
