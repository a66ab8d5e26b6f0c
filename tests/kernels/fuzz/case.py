"""One generated kernel: its tree, its launch, and what is passed to it."""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass, field

import numpy as np
import oracle

from .generator import Features
from .parameters import Parameter, input_values
from .tree import Block, Expr, Function, Layout, Slot, mentions, render
from .value_types import DTYPES


@dataclass(frozen=True)
class Built:
    """C text of one kernel, its arguments, and where its results lie. `layouts`: of the arguments that hold records, by name."""

    text: str
    args: list[oracle.Arg]
    names: list[str]
    slots: list[Slot]
    layouts: dict[str, np.dtype] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """A kernel as a tree. `seed` makes the same kernel and the same data again."""

    seed: str
    name: str
    features: Features
    body: Block
    functions: tuple[Function, ...] = ()
    declarations: tuple[str, ...] = ()
    locals: tuple[str, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    wild: bool = False
    used: dict[str, int] = field(default_factory=dict, compare=False, hash=False)

    @property
    def global_size(self) -> tuple[int, ...]:
        return tuple(size * count for size, count in zip(self.features.local_size, self.features.groups, strict=True))

    def build(self) -> Built:
        """Render; parameters, locals and program-scope declarations that nothing mentions are left out."""
        layout = Layout(stride=-(-self.features.items // 16) * 16)
        body = "".join(render(statement, layout) + "\n" for statement in self.body.statements)
        functions = "".join(render(function) for function in self.functions if mentions(body, _name_of(function)))
        text = functions + body
        parameters = [p for p in self._parameters(layout) if mentions(text, p.name)]
        shared = [line for line in self.locals if any(mentions(body, word) for word in _names_of(line))]
        head = f"kernel void {self.name}({', '.join(p.declaration for p in parameters)}) {{\n"
        declared: list[str] = []
        for declaration in reversed(self.declarations):  # a later one may mention an earlier one
            if any(mentions("".join([*declared, functions, head, *shared, body]), word) for word in _names_of(declaration)):
                declared.insert(0, declaration)
        whole = "".join(declared) + functions + head + _PROLOGUE.format(items=self.features.group_items) + "".join(shared) + body
        layouts = {p.name: p.layout for p in parameters if p.layout is not None}
        return Built(whole + "}\n", [p.arg for p in parameters], [p.name for p in parameters], layout.slots, layouts)

    def _parameters(self, layout: Layout) -> list[Parameter]:
        found = []
        for kind, size in layout.sizes.items():
            zeros = np.zeros(size, DTYPES[kind])
            found.append(Parameter(f"global {kind} *out_{kind}", f"out_{kind}", oracle.Buffer(zeros)))
        for kind in DTYPES:
            random = np.random.default_rng(zlib.crc32(f"{self.seed} {kind}".encode()))
            data = oracle.Buffer(input_values(kind, random, self.wild), output=False)
            found.append(Parameter(f"global const {kind} *in_{kind}", f"in_{kind}", data))
            found.append(Parameter(f"constant {kind} *con_{kind}", f"con_{kind}", data))
        n0 = np.int32(zlib.crc32(self.seed.encode()) % 9)
        found.append(Parameter("int n0", "n0", oracle.Scalar(n0)))
        return [*found, *self.parameters]


_PROLOGUE = """int lid = (int)(get_local_id(0) + get_local_size(0) * (get_local_id(1) + get_local_size(1) * get_local_id(2)));
int grp = (int)(get_group_id(0) + get_num_groups(0) * (get_group_id(1) + get_num_groups(1) * get_group_id(2)));
int gid = grp * {items} + lid;
"""


def _name_of(function: Function) -> str:
    return re.findall(r"(\w+)\(", function.head)[0]


def _names_of(declaration: str) -> list[str]:
    """The names that a declaration of the generator declares."""
    types, variables = r"^(?:struct|union) (?:__attribute__\S+ )?(\w+) {", r"(?:constant|local) (?:struct |union )?\w+ (\w+)"
    return re.findall(f"{types}|{variables}", declaration)[0]


__all__ = ["Built", "Case", "Expr"]
