"""Arguments that are parts of one buffer: some read, one written, with bytes between them that must stay."""

from __future__ import annotations

import numpy as np
import oracle

from ..generator import Generator
from ..parameters import Parameter, input_values
from ..productions import in_kernel, statement
from ..scope import Name
from ..tree import Stmt
from .simple_statements import DEPTH

STEP = 1024
"""Bytes: a multiple of every driver's alignment of sub-buffers."""


@statement("sub-buffers", 0.6, lambda g: in_kernel(g) and g.scope.loops == 0)
def _parts(g: Generator, nesting: int) -> Stmt:
    """Two parts to read, of which one may overlap the other, and one behind them in which each work-item has its element."""
    type, items = g.type(width=1), g.features.items
    step = STEP // type.dtype.itemsize
    random = np.random.default_rng(g.choices.number(0, 2**31))
    array = input_values(type.kind, random, False, 4 * step)
    low, high, out = g.name("g"), g.name("g"), g.name("g")
    overlapping = g.choices.chance(0.4)
    count = step + 32 if overlapping else step
    g.choices.note("sub-buffer/overlapping" if overlapping else "sub-buffer/apart")
    g.parameter(Parameter(f"global const {type} *{low}", low, oracle.Part(array, 0, count, False)))
    space = g.choices.pick(("global const", "constant"))
    g.parameter(Parameter(f"{space} {type} *{high}", high, oracle.Part(array, step, step, False)))
    g.parameter(Parameter(f"global {type} *{out}", out, oracle.Part(array, g.choices.pick((2, 3)) * step, items)))
    value = g.expression(type, DEPTH)
    g.scope.add(Name(type, f"{low}[@u % {count}u]", False, "sub-buffer/read"))
    g.scope.add(Name(type, f"{high}[@u % {step}u]", False, "sub-buffer/read"))
    g.scope.add(Name(type, f"{out}[gid]", True, "sub-buffer/own element"))
    return Stmt((f"{out}[gid] = ", value, ";"))
