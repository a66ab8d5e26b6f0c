"""References of loops that somebody wrote: tiles and chains say of them, too, what they say one after another."""

import numpy as np
import pytest

pytest.importorskip("tvm")
from tvm.script import tirx as T

from adreno_sim.golden.errors import StrayAccessError
from adreno_sim.golden.truth.compiled import CompiledTruths
from adreno_sim.golden.truth.given import as_device_takes
from adreno_sim.golden.truth.program import write_program
from adreno_sim.golden.truth.run import run_program
from adreno_sim.golden.truth.units import Units

pytestmark = pytest.mark.tvm


def run(function, *args):
    """The last parameter's values."""
    written, units = write_program("truth", function), Units()
    compiled = CompiledTruths([written])  # its code lives as long as it
    (*_, found) = run_program(written, compiled.functions["truth"], [as_device_takes(arg, units) for arg in args], units)
    return found.value


def ones(*shape):
    return np.ones(shape, "float32")


def product(by, start, terms=6):
    """y[i, j] = the sum of x[i, k] * w[k, by * j + start], begun with 1."""

    @T.prim_func(s_tir=True)
    def sums(x: T.Buffer((8, terms), "float32"), w: T.Buffer((terms, 8), "float32"), y: T.Buffer((8, 8), "float32")):
        for i, j, k in T.grid(8, 8, terms):
            with T.sblock("sum"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    y[vi, vj] = T.float32(1)
                y[vi, vj] = y[vi, vj] + x[vi, vk] * w[vk, vj * by + start]

    return sums


@pytest.mark.parametrize(("by", "start"), [(1, 1), (1, -1), (-1, 6), (-1, 8)])
def test_a_tile_reads_outside_of_a_tensor_where_its_last_or_first_element_does(by, start):
    with pytest.raises(StrayAccessError, match="its PrimFunc accesses w outside of its shape"):
        run(product(by, start), ones(8, 6), ones(6, 8), ones(8, 8))


@pytest.mark.parametrize(("by", "start"), [(1, 0), (-1, 7), (0, 7)])
def test_a_tile_may_read_the_last_and_the_first_element(by, start):
    np.testing.assert_array_equal(run(product(by, start), ones(8, 6), ones(6, 8), ones(8, 8)), np.full((8, 8), 7.0))


def test_a_sum_of_no_terms_is_not_begun():
    np.testing.assert_array_equal(run(product(1, 0, 0), ones(8, 0), ones(0, 8), 5 * ones(8, 8)), np.full((8, 8), 5.0))


def rows(adds):
    """y = of each row of x in turn what is kept: its sum with those before it (`adds`), or itself."""

    @T.prim_func(s_tir=True)
    def running(x: T.Buffer((5, 8), "float32"), y: T.Buffer((8,), "float32")):
        kept = T.sblock_alloc_buffer((8,), "float32")
        for s in range(5):
            with T.sblock("row"):
                row = T.axis.opaque(5, s)
                for i in range(8):
                    with T.sblock("keep"):
                        v = T.axis.spatial(8, i)
                        if adds:
                            kept[v] = T.if_then_else(row == 0, T.float32(0), kept[v]) + x[row, v]
                        else:
                            kept[v] = x[row, v]
                for i in range(8):
                    with T.sblock("result"):
                        v = T.axis.spatial(8, i)
                        y[v] = T.max(kept[v], T.float32(0))

    return running


@pytest.mark.parametrize(("adds", "expected"), [(True, 5), (False, 1)])
def test_a_chain_goes_on_with_what_it_left_in_a_tensor(adds, expected):
    np.testing.assert_array_equal(run(rows(adds), ones(5, 8), ones(8)), np.full(8, float(expected)))


def doubled(mirrors):
    """y = twice what is in x after each element got one more than it had, or (`mirrors`) than its mirror image had by then."""

    @T.prim_func(s_tir=True)
    def more(x: T.Buffer((4, 4), "float32"), y: T.Buffer((4, 4), "float32")):
        for i, j in T.grid(4, 4):
            with T.sblock("more"):
                vi, vj = T.axis.remap("SS", [i, j])
                x[vj, vi] = (x[vi, vj] if mirrors else x[vj, vi]) + T.float32(1)
        for i, j in T.grid(4, 4):
            with T.sblock("double"):
                vi, vj = T.axis.remap("SS", [i, j])
                y[vi, vj] = x[vi, vj] * T.float32(2)

    return more


def test_a_statement_that_reads_its_own_results_keeps_its_order():
    np.testing.assert_array_equal(run(doubled(True), ones(4, 4), ones(4, 4)), 4 * ones(4, 4) + np.triu(2 * ones(4, 4), 1))
    np.testing.assert_array_equal(run(doubled(False), ones(4, 4), ones(4, 4)), 4 * ones(4, 4))


def shared(shares):
    """y[i, j] = the sum of x[i, k] * w[k, j]; or of y[i, 0] for each j, which begins it again (`shares`)."""

    @T.prim_func(s_tir=True)
    def sums(x: T.Buffer((8, 6), "float32"), w: T.Buffer((6, 8), "float32"), y: T.Buffer((8, 8), "float32")):
        for i, j, k in T.grid(8, 8, 6):
            with T.sblock("sum"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    y[vi, 0 if shares else vj] = T.float32(0)
                y[vi, 0 if shares else vj] = y[vi, 0 if shares else vj] + x[vi, vk] * w[vk, vj]

    return sums


def test_elements_that_share_a_place_keep_the_order_of_their_loops():
    w = np.arange(48, dtype="float32").reshape(6, 8)
    found, each = (run(shared(shares), ones(8, 6), w, 0 * ones(8, 8)) for shares in (True, False))
    np.testing.assert_array_equal(each, np.tile(w.sum(0), (8, 1)))
    np.testing.assert_array_equal(found[:, 0], each[:, -1])
    assert not found[:, 1:].any()
