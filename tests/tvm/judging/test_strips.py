"""References of products with quantised weights: strip by strip they are the same to the bit, and the weight is never whole."""

import re

import numpy as np
import pytest

pytest.importorskip("tvm")
from quantised_layers import draw_weight, nibble
from tvm import te

from adreno_sim.golden.truth.compiled import CompiledTruths
from adreno_sim.golden.truth.nests import strips
from adreno_sim.golden.truth.program import write_program
from adreno_sim.golden.truth.run import Truth, run_program
from adreno_sim.golden.truth.units import Units

pytestmark = pytest.mark.tvm

ROWS, COLUMNS = 40, 64


def product(tokens=3, staged=False, transposed=False, twice=False, rows=ROWS):
    """y = x W^T. staged: nibbles are a tensor of their own. transposed: so is W. twice: W is a second result's too."""
    x = te.placeholder((1, tokens, COLUMNS), "float16", "x")
    weight = te.placeholder((rows, COLUMNS // 8), "uint32", "weight")
    scale = te.placeholder((rows, COLUMNS // 32), "float16", "scale")
    ones = te.compute((rows, COLUMNS // 32), lambda i, j: te.const(1, "float16"), "ones")
    if staged:
        bits = te.compute((rows, COLUMNS), lambda i, j: nibble(weight, ones, i, j, "float16"), "bits")
        matrix = te.compute((rows, COLUMNS), lambda i, j: bits[i, j] * scale[i, j // 32], "matrix")
    else:
        matrix = te.compute((rows, COLUMNS), lambda i, j: nibble(weight, scale, i, j, "float16"), "matrix")
    read = matrix
    if transposed:
        read = te.compute((COLUMNS, rows), lambda j, i: matrix[i, j], "transposed")
    k = te.reduce_axis((0, COLUMNS), "k")

    def term(b, n, i):
        return x[b, n, k] * (read[k, i] if transposed else read[i, k])

    y = te.compute((1, tokens, rows), lambda b, n, i: te.sum(term(b, n, i), axis=k), "y")
    results = [y, te.compute((rows,), lambda i: matrix[i, 0], "first")] if twice else [y]
    return te.create_prim_func([weight, scale, x, *results]), [result.shape for result in results]


def arguments(shapes, tokens, rows):
    rng = np.random.default_rng(0)
    weight = draw_weight("weight", [rows, COLUMNS // 8], "uint32", rng)
    scale = draw_weight("scale", [rows, COLUMNS // 32], "float16", rng)
    x = rng.standard_normal((1, tokens, COLUMNS)).astype("float16")
    return [weight, scale, x, *(np.zeros([int(n) for n in shape], "float16") for shape in shapes)]


def written(least, monkeypatch, function):
    monkeypatch.setattr(strips, "LEAST", least)
    return write_program("truth", function)


def temporaries(program):
    """Elements of each tensor that the reference allocates."""
    sizes = re.findall(r"b\d+ = calloc\(([\dL* ]+),", program.text)
    return sorted(int(np.prod([int(n.strip(" L")) for n in size.split("*")])) for size in sizes)


@pytest.mark.parametrize(
    "options, sizes",
    [
        ({}, [16 * COLUMNS]),
        ({"tokens": 1}, [16 * COLUMNS]),
        ({"staged": True}, [16 * COLUMNS // 32, 16 * COLUMNS, 16 * COLUMNS]),
        ({"transposed": True}, [16 * COLUMNS, 16 * COLUMNS]),
        ({"rows": 48}, [16 * COLUMNS]),
    ],
    ids=["several", "one", "staged", "transposed", "whole strips"],
)
def test_strips_are_the_same_to_the_bit(options, sizes, monkeypatch):
    function, shapes = product(**options)
    programs = [written(least, monkeypatch, function) for least in (1, 1 << 40)]
    rows, tokens = options.get("rows", ROWS), options.get("tokens", 3)
    assert temporaries(programs[0]) == sizes
    assert max(temporaries(programs[1])) == rows * COLUMNS
    programs = [programs[0], programs[1]]
    found = []
    for program in programs:
        compiled = CompiledTruths([program])
        given = arguments(shapes, tokens, rows)
        found.append(run_program(program, compiled.functions["truth"], [Truth(array) for array in given], Units())[-1])
    one, other = found
    assert np.array_equal(one.value, other.value)
    assert one.value.any()
    assert np.array_equal(one.sigma, other.sigma)
    assert np.array_equal(one.native, other.native)


def test_what_another_statement_reads_stays_whole(monkeypatch):
    function, _ = product(twice=True)
    assert max(temporaries(written(1, monkeypatch, function))) == ROWS * COLUMNS


def test_a_sum_that_reads_its_own_result_elsewhere_stays_as_it_is(monkeypatch):
    """Strips would run it in another order."""
    from tvm.script import tirx as T

    @T.prim_func(s_tir=True)
    def running(x: T.Buffer((64, 64), "float32"), y: T.Buffer((64, 64), "float32")):
        doubled = T.sblock_alloc_buffer((64, 64), "float32")
        for i, j in T.grid(64, 64):
            with T.sblock("doubled"):
                vi, vj = T.axis.remap("SS", [i, j])
                doubled[vi, vj] = x[vi, vj] * T.float32(2)
        for i, k in T.grid(64, 64):
            with T.sblock("sum"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    y[vi, 0] = T.float32(0)
                y[vi, 0] = y[T.max(vi - 1, 0), 0] + doubled[vi, vk]

    assert temporaries(written(1, monkeypatch, running)) == [64 * 64]
