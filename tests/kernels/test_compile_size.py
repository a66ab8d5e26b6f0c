"""The work of compiling a kernel grows with its size, and what is given up beyond a limit is said and changes no result.

Work is counted in steps, so that no test depends on the machine. `ci/bench/run.py --suite sizes` measures time.
"""

from __future__ import annotations

import itertools
import sys
import time
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "ci" / "bench"))

from kernel_shapes import SHAPES, WORK_ITEMS
from selection import plain_code

import adreno_sim
from adreno_sim import UnsupportedError
from adreno_sim.base.specs import BufferSpec
from adreno_sim.engine import codegen
from adreno_sim.engine.analysis import affine, bounds, intervals, path_conditions
from adreno_sim.engine.llvm import long_blocks, objects, passes
from adreno_sim.engine.vector import lane_shapes, structure
from adreno_sim.engine.vector.flow import loop_values, region

_numbers = itertools.count()


def launch(source: str, emitter: str = "spmd", checks: str = "bounds", options: str = ""):
    """The result of one launch, its values, and how its code was made; nothing is known of it from before."""
    device = adreno_sim.open_device("sim:adreno-830", checks=checks, emitter=emitter, cache=False)
    views = []
    for dtype in ("int32", "float32"):
        spec = BufferSpec(4 * WORK_ITEMS, dtype)
        views.append(device.view(device.allocate(spec.nbytes), spec))
        device.write(views[-1], np.arange(WORK_ITEMS).astype(dtype))
    kernel = device.build(f"{source} // {next(_numbers)}", options)["k"]
    result = device.launch(kernel, (WORK_ITEMS,), (WORK_ITEMS,), [*views, np.int32(3)])
    return result, [device.read(view).tobytes() for view in views], result.code[-1]


@pytest.fixture
def steps(monkeypatch):
    """Counts the inner steps of the analyses and of code generation; LLVM leaves the code as it is."""
    plain_code.leave_unoptimised(monkeypatch)
    count = [0]
    for owner, name in (
        (affine.AffineForms, "_compute"),
        (bounds.Bounds, "_tighten"),
        (path_conditions.PathConditions, "_combine"),
        (intervals.Intervals, "_transfer"),
        (lane_shapes.LaneShapes, "_transfer"),
        (structure.Level, "children"),
        (loop_values.LoopValues, "_add"),
    ):

        def counted(*args, whole=getattr(owner, name)):
            count[0] += 1
            return whole(*args)

        monkeypatch.setattr(owner, name, counted)
    return count


GROWING = ("booleans", "breaks", "carried", "conditions", "else_ifs", "loop_body", "loops", "nested_loops", "phis", "returns")


@pytest.mark.share(2.5)
@pytest.mark.parametrize("shape", GROWING)
def test_work_and_code_grow_with_the_kernel(shape, steps):
    """Four times the lines: at most six times the steps and the lines of code, besides what a budget of steps allows."""
    found = []
    for lines in (40, 160):
        steps[0] = 0
        _, _, code = launch(SHAPES[shape](lines))
        found.append((steps[0], len(code.text.splitlines())))
    (few, short), (many, long) = found
    assert many <= 6 * few + 10_000
    assert long <= 6 * short


@pytest.mark.each_value
@pytest.mark.parametrize("shape", ["else_ifs", "returns", "breaks", "nested_ifs", "gotos", "nested_loops", "conditions"])
@pytest.mark.parametrize("checks", ["bounds", "full"])
def test_vectors_of_deep_control_flow_compute_what_scalar_code_does(shape, checks):
    source = SHAPES[shape](60)
    assert launch(source, checks=checks)[1] == launch(source, "scalar", checks)[1]


@pytest.mark.parametrize(("bits", "bound"), [(31, 16), (30, 1 << 30), (4, 128), (0, 32)])
def test_a_comparison_of_far_apart_lanes_takes_no_time(bits, bound):
    source = (
        "kernel void k(global int *a, global float *f, int n) {"
        f" a[get_global_id(0)] = (int)((uint)get_local_id(0) << {bits}) < {bound}; }}"
    )
    start = time.process_time()
    _, values, _ = launch(source)
    assert time.process_time() - start < 10  # walking the range took 20 s and more
    ids = np.arange(WORK_ITEMS, dtype=np.uint32) << np.uint32(bits)
    assert values[0] == (ids.view(np.int32) < bound).astype(np.int32).tobytes()


def test_loops_in_loops_are_given_up_and_the_report_says_so():
    result, values, _ = launch(SHAPES["nested_loops"](48))
    assert not result.findings
    assert values == launch(SHAPES["nested_loops"](48), "scalar")[1]
    assert any("values that loops carry: given up after" in failure for failure in result.failures)


def test_loops_of_usual_depth_are_within_the_budget():
    result, _, _ = launch(SHAPES["nested_loops"](6))
    assert not result.failures
    assert result.accesses.places == result.accesses.proven_places


def test_a_long_loop_body_is_proven():
    """It was too deep for the stack of the interpreter."""
    result, _, _ = launch(SHAPES["loop_body"](300))
    assert not result.failures
    assert result.accesses.places == result.accesses.proven_places > 300


@pytest.mark.parametrize("turns", ["int j = 0; j < 7; ++j", "; a[0] > n;"])
def test_hundreds_of_addresses_stepped_in_a_loop_are_bounded_by_its_counter_if_it_has_one(turns):
    count = range(200)
    head = "kernel void k(global int *a, global float *b, int n) { "
    made = "".join(f"global int *p{k} = a + {k & 7};" for k in count)
    body = "".join(f"*p{k} |= 1; p{k} += {1 + k % 3};" for k in count)
    result, _, _ = launch(f"{head}{made} for ({turns}) {{ {body} }} }}", emitter="scalar")
    assert not result.failures
    assert (result.accesses.places == result.accesses.proven_places > 200) == ("j" in turns)


def test_a_function_too_long_to_optimise_computes_the_same(monkeypatch):
    source = SHAPES["chain"](20)
    _, optimised, code = launch(source)
    assert "not optimised" not in code.description
    monkeypatch.setattr(objects.Machine, "compile", objects.Machine.compile_here)
    monkeypatch.setattr(objects, "LONG", 10)
    monkeypatch.setattr(passes, "LONG_OF_SHORT_BLOCKS", 10)
    _, plain, code = launch(source)
    assert plain == optimised
    assert "not optimised" in code.description
    monkeypatch.setattr(objects, "cut_long_blocks", lambda text: long_blocks.cut_long_blocks(text, 5))
    assert launch(source)[1] == optimised


def function_of(blocks: int, lines: int) -> str:
    """A function of so many blocks of so many lines each, the first line of each but the first block being its label."""
    return "define void @k() {\n" + "b:\n".join("  ret void\n" * (lines - (number > 0)) for number in range(blocks)) + "}\n"


@pytest.mark.parametrize(
    ("blocks", "lines", "is_long"),
    [(1, 4000, False), (1, 4001, True), (8, 600, False), (20, 600, False), (21, 600, True), (7, 1511, False), (7, 1513, True),
     (500, 24, False), (501, 9, True), (501, 7, False)],
)  # fmt: skip
def test_functions_of_few_short_blocks_are_optimised_up_to_three_times_the_lines(blocks, lines, is_long):
    text = function_of(blocks, lines)
    assert objects.is_long(text) == is_long
    assert objects.is_long(function_of(1, 2) + text + function_of(1, 2)) == is_long
    assert not objects.is_long(f"{function_of(1, 2)}{objects.RUNTIME}\n{text}"), "the library's functions are not the kernel's"


def test_too_much_vector_code_becomes_scalar_code(monkeypatch):
    source = SHAPES["chain"](20)
    _, vectors, code = launch(source)
    assert "vectors of" in code.description
    monkeypatch.setattr(region, "MOST_VECTORS", 50)
    result, scalar, code = launch(source)
    assert "one work-item at a time (over 50 lines of vector code)" in code.description
    assert scalar == vectors
    assert not result.findings


def test_too_much_code_is_refused_in_one_line(monkeypatch):
    launch(SHAPES["chain"](20))
    monkeypatch.setattr(codegen, "MOST", 100)
    with pytest.raises(
        UnsupportedError, match=r"kernel k becomes \d+ lines of LLVM text: expected at most 100; split the kernel"
    ):
        launch(SHAPES["chain"](20))


def broadcasts(count: int, around: int) -> str:
    """So many broadcasts, while `around` values live that are read behind the last."""
    values = "".join(f"int v{j} = a[(i + {j}) & 63];" for j in range(around))
    steps = "".join(f"x += sub_group_broadcast(x + {j}, {j & 7});" for j in range(count))
    uses = "".join(f"x ^= v{j};" for j in range(around))
    head = "#pragma OPENCL EXTENSION cl_khr_subgroups : enable\nkernel void k(global int *a, global float *f, int n) {"
    return f"{head} int i = get_global_id(0), x = i; {values} barrier(CLK_LOCAL_MEM_FENCE); {steps} {uses} a[i] = x; }}"


@pytest.mark.parametrize("checks", ["bounds", "full"])
def test_values_that_only_live_through_code_between_collectives_cost_it_nothing(checks):
    def count_lines(count: int, around: int) -> int:
        return launch(broadcasts(count, around), "spmd", checks, "-cl-std=CL3.0")[2].text.count("\n")

    few, many = (count_lines(count, 50) - count_lines(count, 10) for count in (6, 30))
    assert many <= 1.1 * few


@pytest.mark.parametrize("checks", ["bounds", "full"])
def test_collectives_alike_share_a_function_and_compute_the_same(checks):
    _, values, code = launch(broadcasts(30, 10), "spmd", checks, "-cl-std=CL3.0")
    assert code.text.count("define internal void @combine.") == 1
    ids = np.arange(WORK_ITEMS, dtype=np.int64)
    x = ids.copy()
    for j in range(30):
        x = x + x[j & 7] + j
    for j in range(10):
        x = x.astype(np.int32) ^ ((ids + j) & 63).astype(np.int32)
    assert values[0] == x.astype(np.int32).tobytes()


def test_a_half_that_arithmetic_gave_is_not_flushed_again():
    text = "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\nkernel void k(global int *a, global float *f, int n) {{"
    text += "int i = get_global_id(0); half h = (half)f[i]; {} f[i] = h; }}"
    few, many = (launch(text.format("h = h * h; " * count), "scalar")[2].text.count(", 31744") for count in (2, 6))
    assert many - few == 4


def test_thousands_of_branches_within_one_another_or_in_a_branch_are_vectors(monkeypatch):
    plain_code.leave_unoptimised(monkeypatch)
    within = "".join(f"if (i != {j}) {{ x += {j}; " for j in range(600)) + "}" * 600
    behind = "if (i < 40) {" + "".join(f"if (x > {j}) x -= n;" for j in range(600)) + "}"
    for text, wanted in ((within, [i + sum(range(i)) for i in range(WORK_ITEMS)]), (behind, fall(600))):
        source = (
            f"kernel void k(global int *a, global float *f, int n) {{ int i = get_global_id(0), x = a[i]; {text} a[i] = x; }}"
        )
        result, values, code = launch(source)
        assert "vectors of" in code.description
        assert not result.failures
        assert values[0] == np.array(wanted, np.int32).tobytes()


def fall(count: int) -> list[int]:
    """What the second of these kernels leaves: the first 40 values fall by 3 as often as they are more than a number."""
    found = [*range(WORK_ITEMS)]
    for i, j in itertools.product(range(40), range(count)):
        found[i] -= 3 * (found[i] > j)
    return found


def nest_loops(depth: int) -> str:
    loops = "".join(f"for (int l{j} = 0; l{j} < 1; ++l{j}) " for j in range(depth))
    return f"kernel void k(global int *a, global float *f, int n) {{ {loops} a[get_global_id(0)] += n; }}"


def test_loops_nested_too_deeply_for_vectors_run_one_work_item_at_a_time():
    _, values, code = launch(nest_loops(101))
    assert "one work-item at a time (loops nested more than 100 deep)" in code.description
    assert values == launch(nest_loops(1))[1]
    assert "vectors of" in launch(nest_loops(20))[2].description


def test_loops_beyond_the_limit_are_refused_in_one_line():
    with pytest.raises(
        UnsupportedError, match=r"300 loops within one another \(in k\): expected at most 256, adreno-sim's limit: "
    ):
        launch(nest_loops(300))
