"""Variables that lose their value in each iteration: random kernels against a model that keeps what each work-item has set."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

import adreno_sim
from adreno_sim.base.specs import BufferSpec

ITEMS, GROUP, ROUNDS = 96, 32, 3
CONDITIONS = {
    "1": lambda i, j: True,
    "j == 0": lambda i, j: j == 0,
    "j != 1": lambda i, j: j != 1,
    "(i & 1)": lambda i, j: i & 1,
    "i > 40": lambda i, j: i > 40,
    "j <= (i & 3)": lambda i, j: j <= i & 3,
}
INDICES = {"j": lambda i, j: j, "i & 3": lambda i, j: i & 3, "2": lambda i, j: 2}
KINDS = {  # declaration, the element numbered n, whether that is one for all n
    "scalar": ("int {v}", "{v}", True),
    "volatile": ("volatile int {v}", "{v}", True),
    "array": ("int {v}[4]", "{v}[{n}]", False),
    "long array": ("int {v}[70]", "{v}[{n}]", False),
    "struct": ("S {v}", "{v}.x[{n}]", False),
    "vector": ("int4 {v}", "{v}.s2", True),
    "escaped": ("int {v}", "*(&{v} + (0 & {n}))", True),
}
HEAD = "typedef struct { char c; int x[4]; } S;\n"


class Kernel:
    """A kernel as text, and how often each of its lines reads what has no value.

    Variables are (name, in the loop, kind); a statement is (variable, condition, index, whether it sets).
    """

    def __init__(self, seed: int):
        draw = random.Random(seed)
        self.variables = [(f"v{n}", draw.random() < 0.7, draw.choice(list(KINDS))) for n in range(draw.randint(1, 3))]
        self.around = draw.choice(list(CONDITIONS))
        self.statements = []
        for _ in range(draw.randint(2, 7)):
            variable = draw.choice(self.variables)
            sets = draw.random() < 0.5
            self.statements.append((variable, draw.choice(list(CONDITIONS)), draw.choice(list(INDICES)), sets))
        self.first_line = 5 + len(self.variables)

    @property
    def text(self) -> str:
        outer = [KINDS[kind][0].format(v=name) + ";" if not inside else "" for name, inside, kind in self.variables]
        inner = [KINDS[kind][0].format(v=name) + ";" if inside else "" for name, inside, kind in self.variables]
        lines = ["kernel void k(global int *o) { int i = get_global_id(0), s = 0;", " ".join(outer)]
        lines.append(f"for (int j = 0; j < {ROUNDS}; j++) if ({self.around}) {{")
        lines += inner
        for (name, _, kind), condition, index, sets in self.statements:
            element = KINDS[kind][1].format(v=name, n=index)
            lines.append(f"if ({condition}) " + (f"{element} = i;" if sets else f"if ({element} > 9) s++;"))
        return HEAD + "\n".join([*lines, "} o[i] = s; }"])

    def count_reads(self) -> Counter[int]:
        counts: Counter[int] = Counter()
        for i in range(ITEMS):
            known: set[tuple[str, int]] = set()
            for j in range(ROUNDS):
                if not CONDITIONS[self.around](i, j):
                    continue
                lost = {name for name, inside, _ in self.variables if inside}
                known = {element for element in known if element[0] not in lost}
                for number, ((name, _, kind), condition, index, sets) in enumerate(self.statements):
                    if not CONDITIONS[condition](i, j):
                        continue
                    element = (name, 0 if KINDS[kind][2] else INDICES[index](i, j))
                    if sets:
                        known.add(element)
                    elif element not in known:
                        counts[self.first_line + number] += 1
        return counts


def find_reads(text: str, emitter: str) -> Counter[int]:
    device = adreno_sim.open_device("sim:reference", checks="full", emitter=emitter)
    spec = BufferSpec(4 * ITEMS, "int32")
    view = device.view(device.allocate(spec.nbytes), spec)
    device.write(view, np.zeros(ITEMS, np.int32))
    found = device.launch(device.build(text, "-cl-std=CL2.0")["k"], (ITEMS,), (GROUP,), [view]).findings
    assert {finding.kind.label for finding in found} <= {"uninitialized-read"}
    counts: Counter[int] = Counter()
    for finding in found:
        counts[finding.line] += finding.count
    return counts


@pytest.mark.each_value
@pytest.mark.parametrize("emitter", ["spmd", "scalar"])
@pytest.mark.parametrize("seed", range(12))
def test_reads_are_those_of_the_model(seed: int, emitter: str) -> None:
    kernel = Kernel(seed)
    assert find_reads(kernel.text, emitter) == kernel.count_reads(), kernel.text
