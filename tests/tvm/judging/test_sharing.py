"""Programs that differ in sizes share one C function, and give what each gives that is compiled alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("tvm")
from tvm import te, topi

from adreno_sim.compiler.tvm_bridge import read_once
from adreno_sim.golden.truth.compiled import CompiledTruths
from adreno_sim.golden.truth.program import find_groups, write_program
from adreno_sim.golden.truth.run import Truth, run_program
from adreno_sim.golden.truth.sharing import share_code
from adreno_sim.golden.truth.truth_program import TruthProgram
from adreno_sim.golden.truth.units import Units

pytestmark = pytest.mark.tvm


def dense(rows: int, columns: int, terms: int) -> Any:
    """A product, a bias and an activation."""
    x, w, b = (
        te.placeholder((rows, terms), name="x"),
        te.placeholder((columns, terms), name="w"),
        te.placeholder((columns,), name="b"),
    )
    return te.create_prim_func([x, w, b, topi.nn.relu(topi.nn.dense(x, w, b))])


def total(rows: int, columns: int) -> Any:
    """Sums of rounded values, which clang adds up in an order that depends on how many they are."""
    x = te.placeholder((rows, columns), name="x")
    return te.create_prim_func([x, topi.sum(topi.exp(x), axis=1)])


def folded(rows: int, columns: int) -> Any:
    """Rows as one vector: its indices are divided by the columns."""
    x = te.placeholder((rows, columns), name="x")
    return te.create_prim_func([x, topi.reshape(x, (rows * columns,))])


def write_all(*functions: Any) -> list[TruthProgram]:
    return [write_program(f"truth{number}", function) for number, function in enumerate(functions)]


def run(program: TruthProgram, compiled: CompiledTruths) -> list[Truth]:
    """Its results on numbers of all magnitudes, and of none."""
    rng = np.random.default_rng(3)
    shapes = [param.tensor.extents for param in program.params if param.tensor is not None]
    size = np.exp(rng.uniform(-40, 30, 1)).astype(np.float32)
    args = [(rng.standard_normal([extent or 0 for extent in shape]) * size).astype(np.float32) for shape in shapes]
    found = run_program(program, compiled.functions[program.name], [Truth(arg) for arg in args], Units())
    return [result for result in found if result is not None]


def assert_alone_the_same(programs: list[TruthProgram]) -> None:
    together = CompiledTruths(programs)
    for program in programs:
        for shared, alone in zip(run(program, together), run(program, CompiledTruths([program])), strict=True):
            assert shared.value.tobytes() == alone.value.tobytes()
            assert (shared.sigma is None) == (alone.sigma is None)
            assert shared.sigma is None or alone.sigma is None or shared.sigma.tobytes() == alone.sigma.tobytes()


def test_layers_in_several_shapes_are_one_function() -> None:
    programs = write_all(dense(12, 24, 16), dense(24, 48, 16), dense(48, 96, 16))
    (code,) = share_code(programs)
    assert len(set(code.sizes.values())) == len(programs)
    assert_alone_the_same(programs)


def test_programs_of_equal_sizes_need_none() -> None:
    (code,) = share_code(write_all(dense(12, 24, 16), dense(12, 24, 16)))
    assert set(code.sizes.values()) == {()}


def test_other_operations_are_other_functions() -> None:
    x = te.placeholder((12, 24), name="x")
    functions = [te.create_prim_func([x, operation(x)]) for operation in (topi.exp, topi.tanh)]
    assert len(share_code(write_all(*functions))) == 2


@pytest.mark.parametrize("make", [total, folded])
def test_what_clang_must_know_is_no_variable(make: Any) -> None:
    programs = write_all(make(12, 40), make(12, 24), make(20, 40))
    assert len(share_code(programs)) == len(programs)
    assert_alone_the_same(programs)


def test_a_function_that_is_written_again_asks_tvm_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    groups = find_groups(dense(12, 24, 16))
    first = write_program("truth", groups)
    asked: list[object] = []
    convert = read_once._convert
    monkeypatch.setattr(read_once, "_convert", lambda value, known: asked.append(value) or convert(value, known))
    again = write_program("truth", groups)
    assert not asked
    assert again == first


def test_it_is_the_same_written_after_another_or_alone() -> None:
    groups = find_groups(dense(12, 24, 16))
    exact = write_program("truth", groups)
    assert write_program("truth", groups, exact.given) == write_program("truth", dense(12, 24, 16), exact.given)


@pytest.mark.parametrize("largest", [1e3, np.inf])
def test_an_element_is_computed_in_its_order(largest: float) -> None:
    x, y = (te.placeholder((2, 33), name=name) for name in "xy")
    in_one = te.compute((2, 33), lambda i, j: (x[i, j] - y[i, j]) + y[i, j])
    for result in (in_one, topi.add(topi.subtract(x, y), y)):
        (program,) = write_all(te.create_prim_func([x, y, result]))
        given = [Truth(np.full((2, 33), value, np.float32)) for value in (1, largest, 0)]
        compiled = CompiledTruths([program])
        *_, found = run_program(program, compiled.functions[program.name], given, Units())
        assert found is not None
        assert np.isnan(found.value).all() if np.isinf(largest) else (found.value == 1).all()


@pytest.mark.parametrize("columns", [1, 33])  # terms that are added up in tiles of registers, and others
@pytest.mark.parametrize(("largest", "expected"), [(1e3, 5), (1e30, 5), (np.inf, np.nan)])
def test_a_term_of_a_sum_is_computed_in_its_order(largest: float, expected: float, columns: int) -> None:
    x, y = (te.placeholder((6, columns), name=name) for name in "xy")
    step = te.reduce_axis((0, 6), name="step")
    differences = te.compute((columns,), lambda j: te.sum(x[step, j] - y[step, j], axis=step))
    both = te.compute((columns,), lambda j: te.sum((x[step, j] - y[step, j]) + y[step, j], axis=step))
    given_x, given_y = np.ones((6, columns), np.float32), np.zeros((6, columns), np.float32)
    given_x[2] = given_y[2] = largest
    for result, last in ((differences, expected), (both, expected + float(given_x[2, 0]))):
        (program,) = write_all(te.create_prim_func([x, y, result]))
        given = [Truth(given_x), Truth(given_y), Truth(np.zeros(columns, np.float32))]
        compiled = CompiledTruths([program])
        *_, found = run_program(program, compiled.functions[program.name], given, Units())
        assert found is not None
        np.testing.assert_array_equal(found.value, np.full(columns, last))
