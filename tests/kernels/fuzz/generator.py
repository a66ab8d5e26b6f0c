"""The state of one kernel while it is generated, and expressions in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

from .choices import Choices
from .forms.float_forms import FLOAT_FORMS
from .forms.integer_forms import INTEGER_FORMS
from .forms.literals import literal
from .forms.vector_forms import LOADS, VECTOR_FORMS
from .parameters import Parameter
from .scope import Name, Scope
from .templates import Template, expand, instantiate
from .tree import Expr, Function
from .value_types import INT, INTEGERS, WIDTHS, Type

FORMS = INTEGER_FORMS + FLOAT_FORMS + VECTOR_FORMS + LOADS
_KIND_WEIGHT = {"int": 6, "uint": 5, "float": 8, "half": 8, "char": 2, "uchar": 2, "short": 2, "ushort": 2, "long": 2, "ulong": 2}
_WIDTH_WEIGHT = {1: 8, 2: 2, 3: 1.5, 4: 4, 8: 1, 16: 0.7}


@dataclass(frozen=True)
class Features:
    """What the judge of a kernel can do, and the shape of its launch.

    avoid: constructs, "construct:kind" or "construct:type". can: what else the judge has (judges.py). licence: what the build
    option permits.
    """

    half: bool
    standard: int
    local_size: tuple[int, ...]
    groups: tuple[int, ...]
    avoid: frozenset[str] = frozenset()
    can: frozenset[str] = frozenset()
    licence: str = ""

    @property
    def group_items(self) -> int:
        total = 1
        for size in self.local_size:
            total *= size
        return total

    @property
    def items(self) -> int:
        total = self.group_items
        for count in self.groups:
            total *= count
        return total


@cache
def _fitting(type: Type, loads: bool, avoid: frozenset[str]) -> list[tuple[float, Template]]:
    forms = FORMS if loads else [form for form in FORMS if form not in LOADS]
    forms = [form for form in forms if avoid.isdisjoint((form.name, f"{form.name}:{type.kind}", f"{form.name}:{type}"))]
    return [(form.weight, form) for form in forms if form.fits(type)]


@dataclass
class Generator:
    """Makes expressions; keeps what the kernel needs besides its body.

    prefix: of names at program scope. loads: inputs and parameters can be read (not in helper functions).
    budget: operations still to make, wide ones counted more; at 0 expressions end in leaves and blocks in one statement.
    result: what the helper function under way returns.
    """

    choices: Choices
    features: Features
    prefix: str
    budget: float = 40.0
    scope: Scope = field(default_factory=Scope)
    parameters: list[Parameter] = field(default_factory=list)
    functions: list[Function] = field(default_factory=list)
    declarations: list[str] = field(default_factory=list)
    locals: list[str] = field(default_factory=list)
    helpers: list[tuple[str, Type, list[Type]]] = field(default_factory=list)
    pointer_helpers: list[tuple[str, Type, list[Type], Type]] = field(default_factory=list)
    loads: bool = True
    result: Type | None = None
    _names: int = 0

    def exact_sum(self, type: Type) -> bool:
        """Whether a sum of this type is the same everywhere."""
        return not (type.is_float and self.features.licence == "relaxed")

    @property
    def kinds(self) -> tuple[str, ...]:
        return (*INTEGERS, "float", "half") if self.features.half else (*INTEGERS, "float")

    def name(self, stem: str) -> str:
        """A name not used before in this program."""
        self._names += 1
        return f"{stem}{self._names}"

    def type(self, *, integer: bool = False, width: int | None = None) -> Type:
        """Any type, common ones more often."""
        kinds = [(_KIND_WEIGHT[kind], kind) for kind in self.kinds if not (integer and kind in ("float", "half"))]
        return Type(self.choices.weighted(kinds), width or self.choices.weighted([(w, n) for n, w in _WIDTH_WEIGHT.items()]))

    def constant(self, type: Type) -> str:
        """A constant for program scope: finite where the judge's INFINITY is no constant expression."""
        before = self.choices.tame
        self.choices.tame = before or "infinite constants" not in self.features.can
        value = literal(self.choices, type)
        self.choices.tame = before
        return "".join(map(str, value.parts))

    # -- expressions

    def expression(self, type: Type, depth: int) -> Expr:
        """An expression of `type`, at most `depth` operations deep."""
        if depth <= 0 or self.budget <= 0 or self.choices.chance(0.12):
            return self.leaf(type, depth)
        self.budget -= 1 + type.width / 4
        if type.width > 1 and self.choices.chance(0.15):
            return self.swizzle(type, depth) if self.choices.chance(0.5) else self.assembled(type, depth)
        if self.helpers and self.choices.chance(0.2) and (call := self.call(type, depth)) is not None:
            return call
        for _ in range(4):
            made = instantiate(self, self.choices.weighted(_fitting(type, self.loads, self.features.avoid)), type, depth)
            if made is not None:
                return made
        return self.leaf(type, depth)

    def call(self, type: Type, depth: int) -> Expr | None:
        """A call of a helper that returns `type`, where there is one."""
        found = [helper for helper in self.helpers if helper[1] == type]
        if not found or not self.loads:
            return None
        name, _, types = self.choices.pick(found)
        self.choices.note("helper/call")
        parts: list[str | Expr] = [f"{name}("]
        for index, argument in enumerate(types):
            parts += [", " if index else "", self.expression(argument, depth - 1)]
        return Expr(type, (*parts, ")"))

    def condition(self, depth: int) -> Expr:
        """A scalar truth value."""
        return self.expression(INT, max(depth, 1))

    def leaf(self, type: Type, depth: int = 0) -> Expr:
        """A variable, an element of a vector variable, an input, or a constant. Below depth 0 nothing with an index."""
        names = [name for name in self.scope.readable(type) if depth >= 0 or "@" not in name.text]
        if names and self.choices.chance(0.7):
            return self.read(self.choices.pick(names), depth)
        vectors = [name for name in self.scope.vectors_of(type.kind) if depth >= 0 or "@" not in name.text]
        if type.width == 1 and vectors and self.choices.chance(0.5):
            found = self.choices.pick(vectors)
            self.choices.note("vector/component")
            return Expr(type, (self.read(found, depth), f".s{self.choices.number(0, found.type.width - 1):x}"))
        if self.choices.chance(0.2):
            return literal(self.choices, type)
        return self.input(type) if self.loads else self.converted(type, depth)

    def input(self, type: Type) -> Expr:
        """The work-item's own element of an input."""
        self.choices.note("load/own element")
        shift = self.choices.number(0, 9)
        if type.width == 1:
            return Expr(type, (f"in_{type.kind}[gid + {shift}]",))
        return Expr(type, (f"vload{type.width}(gid & 15, in_{type.kind} + {shift})",))

    def converted(self, type: Type, depth: int) -> Expr:
        """A variable of another type, where there is one."""
        names = [name for frame in self.scope.frames for name in frame if not name.type.is_float]
        names = [name for name in names if depth >= 0 or "@" not in name.text]
        if not names:
            return literal(self.choices, type)
        value = self.read(self.choices.pick(names), depth)
        self.choices.note("conversion/integer")
        if value.type.width == type.width:
            return Expr(type, (f"convert_{type}(", value, ")"))
        return Expr(type, (f"({type})(convert_{type.kind}(", value, ".s0" if value.type.width > 1 else "", "))"))

    def read(self, name: Name, depth: int = 0) -> Expr:
        """The value of `name`; its indices are one level deeper."""
        self.choices.note(name.construct)
        return Expr(name.type, expand(self, name.text, name.type, min(depth, 1)))

    def swizzle(self, type: Type, depth: int) -> Expr:
        """Components of a wider or equal vector, in any order, repeated or not."""
        source = type.wide(self.choices.pick([width for width in WIDTHS if width >= 2]))
        self.choices.note("vector/swizzle")
        chosen = [self.choices.number(0, source.width - 1) for _ in range(type.width)]
        letters = "".join("xyzw"[i] for i in chosen) if source.width <= 4 and self.choices.chance(0.6) else ""
        return Expr(type, ("(", self.expression(source, depth - 1), f").{letters or 's' + ''.join(f'{i:x}' for i in chosen)}"))

    def assembled(self, type: Type, depth: int) -> Expr:
        """A vector literal of scalars and shorter vectors, in parentheses: clang dies of `(float4)((float2)(1.0f), f().s01)`."""
        self.choices.note("vector/literal")
        widths, left = [], type.width
        while left:
            width = self.choices.pick([w for w in WIDTHS if w <= left and w < type.width])
            widths.append(width)
            left -= width
        parts: list[str | Expr] = [f"({type})("]
        for index, width in enumerate(widths):
            parts += [", (" if index else "(", self.expression(type.wide(width), depth - 2), ")"]
        return Expr(type, (*parts, ")"))

    def parameter(self, parameter: Parameter) -> None:
        """Another parameter of the kernel."""
        self.parameters.append(parameter)
