"""Reductions of rows: sums, means, softmax, layer norm; and of windows: pooling."""

from __future__ import annotations

from typing import Any

from tvm import topi

from .linear import STEPS
from .problem import Defect, Family, Input, Problem, defects_of, items_of, name_of, reduce_text, type_of

EPSILON = 1e-5
"""Of layer norm."""

WINDOWS = (4, 8, 16, 32, 64, 128)
"""Sides of pooling windows."""


def make_sum(terms: int, dtype: str, order: str) -> Problem:
    return _make_reduction("sum", "s", lambda x: topi.sum(x, axis=-1), terms, dtype, order)


def make_mean(terms: int, dtype: str, order: str) -> Problem:
    result = f"s / ({type_of(dtype)}){terms}"
    return _make_reduction("mean", result, lambda x: topi.sum(x, axis=-1) / float(terms), terms, dtype, order)


def _make_reduction(family: str, result: str, compute: Any, terms: int, dtype: str, order: str) -> Problem:
    rows, type = 64, type_of(dtype)
    row = f"(IS(WRONG_ROW, r) ? (r + 1) % {rows} : r)"
    term = f"(IS(DROPPED_TERM, r) && t == at ? ({type})0 : x[t])"
    body = [
        "  int r = get_group_id(0);",
        f"  global const {type} *x = X + {row} * {terms};",
        reduce_text(order, terms, type, "s", term, missing="IS(MISSING_PARTIAL, r)"),
        f"  if (get_local_id(0) == 0) Y[r] = {result};",
    ]
    return Problem(
        name_of(family, terms, dtype, order), family, terms, dtype, order, (Input("X", (rows, terms), dtype, "data"),), (rows,),
        "\n".join(body), compute, rows, items_of(order, terms), terms, rows,
        defects_of(order, Defect.DROPPED_TERM, Defect.WRONG_ROW),
    )  # fmt: skip


def rows_for(terms: int) -> int:
    """Rows of softmax and layer norm: fewer where they are long, as each element is a result."""
    return 16 if terms <= 1024 else 4


SWAPPED = "(IS(SWAPPED_CHANNEL, r) && (j | 1) == (at | 1) ? j ^ 1 : j)"


def make_softmax(terms: int, dtype: str, order: str) -> Problem:
    rows, items, type = rows_for(terms), items_of(order, terms), type_of(dtype)
    term = f"(IS(DROPPED_TERM, r) && t == at ? ({type})0 : exp(x[t] - m))"
    body = [
        "  int r = get_group_id(0);",
        f"  global const {type} *x = X + (IS(WRONG_ROW, r) ? (r + 1) % {rows} : r) * {terms};",
        reduce_text(order, terms, type, "m", "x[t]", "fmax({0}, {1})", "(-INFINITY)"),
        reduce_text(order, terms, type, "s", term, missing="IS(MISSING_PARTIAL, r)"),
        f"  for (int j = get_local_id(0); j < {terms}; j += {items}) Y[r * {terms} + j] = exp(x[{SWAPPED}] - m) / s;",
    ]
    defects = defects_of(order, Defect.DROPPED_TERM, Defect.SWAPPED_CHANNEL, Defect.WRONG_ROW)
    return Problem(
        name_of("softmax", terms, dtype, order), "softmax", terms, dtype, order, (Input("X", (rows, terms), dtype, "scores"),),
        (rows, terms), "\n".join(body), lambda x: topi.nn.softmax(x), rows, items, terms, rows, defects,
    )  # fmt: skip


def make_layer_norm(terms: int, dtype: str, order: str) -> Problem:
    """Sums in float whatever the type is, as TVM has them."""
    rows, items, type = rows_for(terms), items_of(order, terms), type_of(dtype)

    def sum_text(name: str, term: str) -> str:
        dropped = f"(IS(DROPPED_TERM, r) && t == at ? 0.0f : {term})"
        return reduce_text(order, terms, "float", name, dropped, missing="IS(MISSING_PARTIAL, r)")

    body = [
        "  int r = get_group_id(0);",
        f"  global const {type} *x = X + (IS(WRONG_ROW, r) ? (r + 1) % {rows} : r) * {terms};",
        sum_text("s", "(float)x[t]"),
        f"  float mean = s / {terms}.0f;",
        sum_text("v", "((float)x[t] - mean) * ((float)x[t] - mean)"),
        f"  float scale = rsqrt(v / {terms}.0f + {EPSILON}f);",
        f"  for (int j = get_local_id(0); j < {terms}; j += {items}) {{",
        "    int lane = IS(WRONG_BIAS_LANE, r) && j == at ? (j & ~3) | ((j + 1) & 3) : j;",
        f"    Y[r * {terms} + j] = ({type})(((float)x[{SWAPPED}] - mean) * scale) * gamma[j] + beta[lane];",
        "  }",
    ]
    inputs = (
        Input("X", (rows, terms), dtype, "data"),
        Input("gamma", (terms,), dtype, "data"),
        Input("beta", (terms,), dtype, "data"),
    )
    defects = (Defect.DROPPED_TERM, Defect.SWAPPED_CHANNEL, Defect.WRONG_BIAS_LANE, Defect.WRONG_ROW)
    return Problem(
        name_of("layer norm", terms, dtype, order), "layer norm", terms, dtype, order, inputs, (rows, terms), "\n".join(body),
        lambda x, gamma, beta: topi.nn.layer_norm(x, gamma, beta, [-1], EPSILON), rows, items, terms, rows,
        defects_of(order, *defects),
    )  # fmt: skip


def make_avg_pool(terms: int, dtype: str, order: str) -> Problem:
    return _make_pool("avg pool", "avg", terms, dtype, order)


def make_max_pool(terms: int, dtype: str, order: str) -> Problem:
    return _make_pool("max pool", "max", terms, dtype, order)


def _make_pool(family: str, pool: str, terms: int, dtype: str, order: str) -> Problem:
    """Windows of side x side, one beside another: where they overlap, maxima are the same and tell nothing."""
    side, channels, out, type = int(terms**0.5), 4, 4, type_of(dtype)
    edge = side * out
    start, combine, result = "0", "{0} + {1}", f"s / ({type}){terms}"
    if pool == "max":
        start, combine, result = "(-INFINITY)", "fmax({0}, {1})", "s"
    texel = f"X[c * {edge * edge} + (y + t / {side}) % {edge} * {edge} + x + t % {side}]"
    body = [
        "  int o = get_group_id(0);",
        f"  int c = o / {out * out}, x = o % {out} * {side}, y = o / {out} % {out} * {side};",
        "  if (IS(WRONG_ROW, o)) y++;",
        "  if (IS(SWAPPED_CHANNEL, o)) c ^= 1;",
        reduce_text(
            order, terms, type, "s", f"(IS(DROPPED_TERM, o) && t == at ? ({type}){start} : {texel})", combine, start,
            "IS(MISSING_PARTIAL, o)",
        ),
        f"  if (get_local_id(0) == 0) Y[o] = {result};",
    ]  # fmt: skip

    def compute(x: Any) -> Any:
        return topi.nn.pool2d(x, (side, side), (side, side), (1, 1), (0, 0, 0, 0), pool)

    shape = (1, channels, out, out)
    return Problem(
        name_of(family, terms, dtype, order), family, terms, dtype, order,
        (Input("X", (1, channels, edge, edge), dtype, "data"),), shape, "\n".join(body), compute, channels * out * out,
        items_of(order, terms), terms, channels * out * out,
        defects_of(order, Defect.DROPPED_TERM, Defect.SWAPPED_CHANNEL, Defect.WRONG_ROW),
    )  # fmt: skip


FAMILIES = (
    Family("softmax", STEPS, make_softmax),
    Family("layer norm", STEPS, make_layer_norm),
    Family("avg pool", tuple(side * side for side in WINDOWS), make_avg_pool),
    Family("max pool", tuple(side * side for side in WINDOWS), make_max_pool),
    Family("sum", STEPS, make_sum),
    Family("mean", STEPS, make_mean),
)
