"""Promotion of variables to values: a phi stands where definitions meet, and only if its value is read."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from kernel_ir import instrs, kernel

from adreno_sim.frontend.passes.phi_placement import place_phis
from adreno_sim.ir import ir
from adreno_sim.ir.cfg import predecessors
from adreno_sim.ir.dominators import Dominators

sys.path.insert(0, str(Path(__file__).parents[3] / "ci" / "bench"))

from kernel_shapes import SHAPES


def body(text: str) -> ir.Function:
    return kernel(f"kernel void k(global int *a, int n, int m) {{ int x = a[0], y = a[1]; {text} }}")


def phis(function: ir.Function) -> list[ir.Instr]:
    return instrs(function, "phi")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("if (n) x = 1; a[0] = x;", ["x"]),
        ("if (n) x = 1; a[0] = y;", []),
        ("if (n) x = 1; x = 2; a[0] = x;", []),
        ("if (n) x = 7; else x = 7; a[0] = x;", []),
        ("if (n) x = 1; if (m) y = x; a[0] = y;", ["x", "y"]),
        ("if (n) x = 1; if (m) y = 2; a[0] = x + y;", ["x", "y"]),
        ("while (a[2]) x += n; a[0] = x;", ["x"]),
        ("while (a[2]) a[1] = x; a[0] = x;", []),
        ("while (a[2]) { x = n; if (m) x = 3; a[3] = x; }", ["x"]),
        ("for (int j = 0; j < n; ++j) for (int l = 0; l < m; ++l) x += y;  a[0] = x;", ["j", "l", "x", "x"]),
        ("if (n) goto in; while (x < m) { y += x; in: ++x; } a[0] = y;", ["x", "x", "y", "y"]),
    ],
)
def test_a_phi_stands_where_values_meet_that_are_read(text, names):
    assert sorted(phi.name for phi in phis(body(text))) == names


def test_a_variable_without_a_value_on_one_way_is_undefined_there():
    function = body("int z; if (n) z = 1; a[0] = z;")
    (phi,) = phis(function)
    assert sorted(str(value.value) for value in phi.operands) == sorted(["1", str(ir.UNDEF)])


def test_a_variable_of_a_loop_has_no_value_at_its_declaration_in_any_iteration():
    (inner,) = (p for p in phis(body("while (a[2]) { int z; if (n) z = 1; a[0] = z; }")) if p.name == "z")
    assert sorted(str(value.value) for value in inner.operands) == sorted(["1", str(ir.UNDEF)])
    outer = [p for p in phis(body("int z; while (a[2]) { if (n) z = 1; a[0] = z; }")) if p.name == "z"]
    assert len(outer) == 2


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("int z[4]; z[n] = 1; a[0] = z[m];", 0),
        ("while (a[2]) { int z[4]; z[n] = 1; a[0] = z[m]; }", 1),
        ("while (a[2]) { int z[4] = {1}; z[n] = 1; a[0] = z[m]; }", 0),
        ("int z[4]; while (a[2]) { z[n] = 1; a[0] = z[m]; }", 0),
        ("again: ; int z[4]; z[n] = 1; a[0] = z[m]; if (a[2]) goto again;", 1),
        ("if (n) goto in; while (x < m) { int z[4]; z[n] = 1; y += z[m]; in: ++x; } a[0] = y;", 1),
        ("while (a[2]) switch (n) { case 0:; int z[4]; z[n] = 1; case 1: a[0] = z[m]; }", 1),
        ("while (a[2]) switch (n) { int z[4]; case 0: z[n] = 1; case 1: a[0] = z[m]; }", 0),
        ("while (a[2]) { volatile int z; z = 1; a[0] = z; }", 1),
        ("while (a[2]) { int z[1 << 19]; z[n] = 1; a[0] = z[m]; }", 0),
    ],
)
def test_declarations_in_loops_are_kept_for_variables_in_memory(text, count):
    assert len(instrs(body(text), "undefine")) == count


@pytest.mark.parametrize("shape", ["phis", "gotos", "breaks", "nested_while", "fall_through", "booleans"])
def test_no_phi_is_dead_and_each_has_a_value_for_every_edge(shape):
    function = kernel(SHAPES[shape](60))
    used = {id(value) for instr in instrs(function) if instr.op != "phi" for value in instr.operands}
    found, before = phis(function), -1
    while before != len(used):
        before = len(used)
        used |= {id(value) for phi in found if id(phi) in used for value in phi.operands}
    assert found
    assert all(id(phi) in used for phi in found)
    incoming = predecessors(function.blocks)
    for block in function.blocks:
        for phi in block.phis:
            assert phi.blocks == incoming[block]


def test_values_that_pass_a_join_unchanged_need_no_phi_there():
    """There are as many as assignments in branches: 36 in 36 branches that 4 values live through, not 144."""
    counts = [len(phis(kernel(SHAPES["phis"](lines)))) for lines in (40, 400)]
    assert counts[0] <= 2 * 36
    assert counts[1] <= 2 * 360


def test_a_variable_needs_a_phi_only_at_the_loop_that_assigns_it():
    """It lives through every loop inside."""
    function = body("for (int j = 0; j < n; ++j) for (int l = 0; l < m; ++l) for (int p = 0; p < n; ++p) a[p] = l; a[0] = x;")
    tree = Dominators(function)
    headers = [block for block in tree.order if block.phis]
    outermost = headers[0]
    back = next(block for block in tree.predecessors[id(outermost)] if tree.dominates(outermost, block))
    defined, read = {tree.order[0]: 0b111, back: 0b001}, {back: 0b001, tree.order[-1]: 0b010}
    assert place_phis(tree, defined, read) == {outermost: [0]}
