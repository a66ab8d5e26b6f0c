"""Sums of products: convolutions, matmul, GEMV with plain weights and with q4 weights."""

from __future__ import annotations

from typing import Any

from tvm import te

from .problem import Defect, Family, Input, Problem, defects_of, items_of, name_of, reduce_text, type_of

STEPS = (16, 64, 256, 1024, 4096, 16384)
CHANNELS = (2, 8, 28, 114, 456, 1820)
"""Of convolutions with 3 x 3 = 9 terms each."""

OUT = 4
"""Output channels of a convolution."""
SIDE = 4
"""Rows and columns of its output."""


def _assemble(
    family: str, terms: int, dtype: str, order: str, inputs: tuple[Input, ...], outputs: int, head: str, term: str, lane: str,
    compute: Any, shape: tuple[int, ...], extra: tuple[Defect, ...] = (),
) -> Problem:  # fmt: skip
    """head: C text that names what depends on the output o. term: of t. lane: the output's place in the bias."""
    type = type_of(dtype)
    dropped = f"(IS(DROPPED_TERM, o) && t == at ? ({type})0 : {term})"
    body = [
        f"  int o = get_group_id(0){' * get_local_size(0) + get_local_id(0)' if order == 'sequential' else ''};",
        head,
        reduce_text(order, terms, type, "s", dropped, missing="IS(MISSING_PARTIAL, o)"),
        f"  int lane = {lane};",
        f"  {type} sum = s + bias[IS(WRONG_BIAS_LANE, o) ? (lane & ~3) | ((lane + 1) & 3) : lane];",
        "  Y[o] = sum;" if order == "sequential" else "  if (get_local_id(0) == 0) Y[o] = sum;",
    ]
    defects = (Defect.DROPPED_TERM, Defect.SWAPPED_CHANNEL, Defect.WRONG_BIAS_LANE, Defect.WRONG_ROW, *extra)
    items = 16 if order == "sequential" else items_of(order, terms)
    groups = outputs // 16 if order == "sequential" else outputs
    return Problem(
        name_of(family, terms, dtype, order), family, terms, dtype, order, inputs, shape, "\n".join(body), compute, groups, items,
        terms, outputs, defects_of(order, *defects),
    )  # fmt: skip


def make_conv(terms: int, dtype: str, order: str) -> Problem:
    channels, edge = terms // 9, SIDE + 2
    pairs = f"(IS(SWAPPED_CHANNEL, o) && ((t / 9) | 1) == ((at / 9) | 1) ? (t / 9) ^ 1 : t / 9) * {edge * edge}"
    term = f"X[{pairs} + (y + t / 3 % 3) % {edge} * {edge} + x + t % 3] * W[n * {terms} + t]"
    head = f"  int n = o / {SIDE * SIDE}, x = o % {SIDE};\n"
    head += f"  int y = o / {SIDE} % {SIDE} + (IS(WRONG_ROW, o) ? 1 : 0);"

    def compute(x: Any, w: Any, bias: Any) -> Any:
        c, i, j = (te.reduce_axis((0, extent), name) for extent, name in ((channels, "c"), (3, "i"), (3, "j")))
        sums = te.compute(
            (OUT, SIDE, SIDE), lambda n, y, z: te.sum(x[c, y + i, z + j] * w[n, c, i, j], axis=[c, i, j]), name="sums"
        )
        return te.compute((OUT, SIDE, SIDE), lambda n, y, z: sums[n, y, z] + bias[n], name="Y")

    inputs = (
        Input("X", (channels, edge, edge), dtype, "data"),
        Input("W", (OUT, channels, 3, 3), dtype, "weights"),
        Input("bias", (OUT,), dtype, "data"),
    )
    return _assemble(
        "conv2d", terms, dtype, order, inputs, OUT * SIDE * SIDE, head, term, "n", compute, (OUT, SIDE, SIDE)
    )  # fmt: skip


def make_depthwise(terms: int, dtype: str, order: str) -> Problem:
    channels, edge = 16, SIDE + 2
    term = f"X[c * {edge * edge} + (y + t / 3) % {edge} * {edge} + x + t % 3] * W[n * 9 + t]"
    head = (
        f"  int n = o / {SIDE * SIDE}, x = o % {SIDE}, c = IS(SWAPPED_CHANNEL, o) ? n ^ 1 : n;\n"
        f"  int y = o / {SIDE} % {SIDE} + (IS(WRONG_ROW, o) ? 1 : 0);"
    )

    def compute(x: Any, w: Any, bias: Any) -> Any:
        i, j = te.reduce_axis((0, 3), "i"), te.reduce_axis((0, 3), "j")
        shape = (channels, SIDE, SIDE)
        sums = te.compute(shape, lambda n, y, z: te.sum(x[n, y + i, z + j] * w[n, i, j], axis=[i, j]), name="sums")
        return te.compute(shape, lambda n, y, z: sums[n, y, z] + bias[n], name="Y")

    inputs = (
        Input("X", (channels, edge, edge), dtype, "data"),
        Input("W", (channels, 3, 3), dtype, "weights"),
        Input("bias", (channels,), dtype, "data"),
    )
    outputs = channels * SIDE * SIDE
    return _assemble(
        "depthwise", terms, dtype, order, inputs, outputs, head, term, "n", compute, (channels, SIDE, SIDE)
    )  # fmt: skip


SWAPPED = "(IS(SWAPPED_CHANNEL, o) && (t | 1) == (at | 1) ? t ^ 1 : t)"
"""The channel of term t, those of one pair exchanged."""


def make_matmul(terms: int, dtype: str, order: str) -> Problem:
    return _make_product("matmul", 8, 8, terms, dtype, order)


def make_gemv(terms: int, dtype: str, order: str) -> Problem:
    return _make_product("gemv", 1, 64, terms, dtype, order)


def _make_product(family: str, rows: int, columns: int, terms: int, dtype: str, order: str) -> Problem:
    """Y = X W^T + bias; of one row, the row of W is what may be off by one."""
    head = f"  int m = o / {columns}, n = o % {columns}, from = n;\n"
    head += f"  if (IS(WRONG_ROW, o)) {f'm = (m + 1) % {rows}' if rows > 1 else f'from = (n + 1) % {columns}'};"
    term = f"X[m * {terms} + {SWAPPED}] * W[from * {terms} + t]"

    def compute(x: Any, w: Any, bias: Any) -> Any:
        k = te.reduce_axis((0, terms), "k")
        sums = te.compute((rows, columns), lambda m, n: te.sum(x[m, k] * w[n, k], axis=k), name="sums")
        return te.compute((rows, columns), lambda m, n: sums[m, n] + bias[n], name="Y")

    inputs = (
        Input("X", (rows, terms), dtype, "data"),
        Input("W", (columns, terms), dtype, "weights"),
        Input("bias", (columns,), dtype, "data"),
    )
    return _assemble(family, terms, dtype, order, inputs, rows * columns, head, term, "n", compute, (rows, columns))


def make_q4(terms: int, dtype: str, order: str) -> Problem:
    """Eight weights of four bits in a word, each less 8 and times the scale of its group."""
    columns, group, type = 64, min(terms, 32), type_of(dtype)
    head = f"  int n = o, from = IS(WRONG_ROW, o) ? (o + 1) % {columns} : o;"
    nibble = "((IS(WRONG_NIBBLE, o) && t == at ? t ^ 1 : t) & 7)"
    level = f"(int)(W[from * {terms // 8} + t / 8] >> (4 * {nibble}) & 15) - 8"
    term = f"X[{SWAPPED}] * (({type})({level}) * scale[from * {terms // group} + t / {group}])"

    def compute(x: Any, w: Any, scale: Any, bias: Any) -> Any:
        def weigh(n: Any, k: Any) -> Any:
            level = (w[n, k // 8] >> (k % 8 * 4).astype("uint32")) & 15
            return (level.astype("int32") - 8).astype(dtype) * scale[n, k // group]

        weights = te.compute((columns, terms), weigh, name="weights")
        k = te.reduce_axis((0, terms), "k")
        sums = te.compute((columns,), lambda n: te.sum(x[k] * weights[n, k], axis=k), name="sums")
        return te.compute((columns,), lambda n: sums[n] + bias[n], name="Y")

    inputs = (
        Input("X", (terms,), dtype, "data"),
        Input("W", (columns, terms // 8), "uint32", "bits"),
        Input("scale", (columns, terms // group), dtype, "scales"),
        Input("bias", (columns,), dtype, "data"),
    )
    return _assemble(
        "gemv q4", terms, dtype, order, inputs, columns, head, term, "n", compute, (columns,), (Defect.WRONG_NIBBLE,)
    )  # fmt: skip


FAMILIES = (
    Family("conv2d", tuple(9 * count for count in CHANNELS), make_conv),
    Family("depthwise", (9,), make_depthwise),
    Family("matmul", STEPS, make_matmul),
    Family("gemv", STEPS, make_gemv),
    Family("gemv q4", STEPS, make_q4, ("float16",)),
)
