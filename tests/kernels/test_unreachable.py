"""Code that cannot run under its own conditions: nothing in it ends an analysis, its accesses are proven, and no others are."""

from __future__ import annotations

import random
import re

import numpy as np
import oracle
import pytest
from in_range_cases import HEAD, ITEMS
from in_range_checks import accesses, findings, proven

NEVER = {  # n is 7, u is 5, b[i] is 1 to 16: the access out of range of `a` never runs
    "a quotient by an empty range": "uint d = i; if (d > 2u) if (d < 1u) a[i / d + 1000] = 1;",
    "a quotient of another number": "uint d = i & 15; if (d > 2u) if (d < 1u) a[(uint)i / d + 1000] = 1;",
    "a remainder": "uint d = i; if (d > 2u) if (d < 1u) a[1000 + 77 % d] = 1;",
    "a shift by a negative amount": "int x = i + 1; if (x < 1) a[((i | 8) >> (x + i)) + 1000] = 1;",
    "a shift to the left": "int x = i + 1; if (x < 1) a[((i | 8) << (x + i)) + 1000] = 1;",
    "a logical shift": "uint x = i + 40; if (x < 33u) a[((uint)(i - 9) >> x) + 1000] = 1;",
    "an argument": "if (n > 7) a[i + 1000] = 1;",
    "an argument that is equal": "if (u != 5u) a[i + 1000] = 1;",
    "a loop of no iterations": "for (int j = 0; j < n - 7; ++j) a[i + j + 1000] = 1;",
    "a loop that only seems to run": "for (uint j = u; j < 5u; ++j) { if (j > 3u) a[i / j + 1000] = 1; }",
    "what was read": "int d = b[i]; if (d > 5) if (d < 3) a[d + 1000] = 1;",
    "constraints that link symbols": "if (i + l < 9) if (l > 5) if (i > 4 + g * 16) a[i / (9 - i - l) + 1000] = 1;",
    "min and max": "int d = max(i, 9); if (d < 9) a[min(d, 3) / (d - 9) + 1000] = 1;",
    "one way of a choice": "int d = n > 7 ? 1000 : i; a[d] |= 1;",
    "an empty case": "switch (i + 100) { case 5: a[1000] = 1; }",
    "images of the same index in a vector": "int2 d = (int2)(i, i + 1); if (d.y < 1) a[(d.x | 8) >> (d.y + i)] = 1;",
}
SOMETIMES = {  # the same shapes with conditions that some work-item meets
    "a quotient": "uint d = i; if (d > 2u) if (d < 4u) a[i / d + 1000] = 1;",
    "an argument": "if (n > 6) a[i + 1000] = 1;",
    "an argument that is equal": "if (u == 5u) a[i + 1000] = 1;",
    "a loop of one iteration": "for (int j = 0; j < n - 6; ++j) a[i + j + 1000] = 1;",
    "what was read": "int d = b[i]; if (d > 5) if (d < 7) a[d + 1000] = 1;",
    "min and max": "int d = max(i, 9); if (d < 10) a[d + 1000] = 1;",
    "one way of a choice": "int d = n > 6 ? 1000 : i; a[d] = 1;",
    "the last work-item": "if (i + l < 79) if (l > 14) if (i > 62) a[1000] = 1; else a[i] = 1;",
    "a case": "switch (i + 100) { case 101: a[1000] = 1; }",
}  # fmt: skip


@pytest.mark.parametrize("name", NEVER)
def test_an_access_that_never_runs_is_proven(engine, monkeypatch, name):
    source = f"{HEAD}{NEVER[name]} }}"
    assert all(proven(source, ITEMS))
    for fast in (True, False):
        assert findings(engine, monkeypatch, source, ITEMS, fast)[0] == []


@pytest.mark.parametrize("name", SOMETIMES)
def test_an_access_that_runs_for_some_is_found(engine, monkeypatch, name):
    source = f"{HEAD}{SOMETIMES[name]} }}"
    assert not all(proven(source, ITEMS))
    found = [findings(engine, monkeypatch, source, ITEMS, fast)[0] for fast in (True, False)]
    assert found[0] == found[1]
    assert [f.kind.label for f in found[0]] == ["out-of-bounds-write"]


@pytest.mark.parametrize("checks", ["bounds", "full", "off"])
def test_no_analysis_ends_at_code_that_never_runs(engine, checks):
    """With all kernels in one: what one condition says must not leak into the code behind it."""
    body = " ".join(f"{{ {code} }}" for code in NEVER.values())
    args = [oracle.Buffer(np.zeros(ITEMS, np.int32)), oracle.Buffer(np.arange(ITEMS, dtype=np.int32) % 16 + 1)]
    args += [oracle.Scalar(np.int32(7)), oracle.Scalar(np.uint32(5))]
    result = engine.run(f"{HEAD}{body} a[i] += i; }}", "k", (ITEMS,), (16,), args, checks=checks)
    assert result.findings == []
    assert (result.outputs[0] == np.arange(ITEMS) + 1).all()


ATOMS = ("i", "l", "g", "n", "u", "d", "(i & 7)", "(i / 3)", "(i % 5)", "(i - 20)", "(l + g)", "(l - 3)", "(i + d)", "max(l, 4)")
INDICES = ("{0}", "{0} + {1}", "{0} - {1}", "{0} / ({1} | 1)", "{0} * {1}", "(({0} | 8) >> ({1} & 31))", "{0} % ({1} | 1)")


def random_body(rng: random.Random, depth: int = 0) -> str:
    """Nested random conditions with one access on each line."""
    index = rng.choice(INDICES).format(rng.choice(ATOMS), rng.choice(ATOMS))
    access = f"\na[{index} + {rng.randrange(-8, 9)}] |= 1;\n"
    if depth == 4:
        return access
    unsigned = "(uint)" if rng.random() < 0.3 else ""
    left, right = unsigned + rng.choice(ATOMS), rng.choice((*ATOMS, *map(str, range(-3, 20))))
    condition = f"{left} {rng.choice(('<', '<=', '>', '>=', '==', '!='))} {unsigned}{right}"
    inside = random_body(rng, depth + 1)
    if rng.random() < 0.25:
        name = f"j{depth}"
        inside = re.sub(r"\bn\b", name, inside, count=1)
        return f"for (int {name} = {rng.choice(ATOMS)}; {name} < {right}; ++{name}) {{ {inside} }}"
    return f"if ({condition}) {{ {inside} }}" + (f" else {{ {random_body(rng, depth + 1)} }}" if rng.random() < 0.4 else "")


@pytest.mark.parametrize("seed", [pytest.param(seed, marks=[pytest.mark.slow] * (seed > 11)) for seed in range(40)])
def test_no_random_condition_proves_what_goes_wrong(engine, monkeypatch, seed):
    check_random(engine, monkeypatch, seed)


def check_random(engine, monkeypatch, seed: int) -> None:
    rng = random.Random(seed)
    source = f"{HEAD} int d = b[i]; {' '.join(random_body(rng) for _ in range(3))} }}"
    known = {i.loc.line for i, good in zip(accesses(source), proven(source, ITEMS), strict=True) if good}
    exact = findings(engine, monkeypatch, source, ITEMS, False)[0]
    assert not known & {f.line for f in exact}
    assert findings(engine, monkeypatch, source, ITEMS, True)[0] == exact
