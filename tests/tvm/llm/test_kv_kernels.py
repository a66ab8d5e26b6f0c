"""The kernels of TVM's paged KV cache as they come, against NumPy: right but for the defects that they have."""

import pytest

pytest.importorskip("tvm")
import kv_kernels
from kv_kernels import KERNELS, Sizes, make_case

from adreno_sim import check_kernel
from adreno_sim.base.errors import UncompiledError
from adreno_sim.compiler.lower.targets import make_target
from adreno_sim.engine.llvm import objects
from adreno_sim.findings import Severity

pytestmark = pytest.mark.tvm

DEFECTS = {
    "append": ("condition-range", {"out-of-bounds-read"}),
    "merge": ("group-update", {"data-race", "wrong-value"}),
    "tree": ("condition-range", {"out-of-bounds-read"}),
    "tree-paged": ("condition-range", {"out-of-bounds-read"}),
}
"""Kernel -> the fix that it needs, and the kinds of errors that TVM's own text has at level full."""

SIZES = [Sizes("float16", 64, 16), Sizes("float32", 128, 32), Sizes("float16", 128, 16), Sizes("float32", 64, 32)]


def errors_of(report):
    return {finding.kind.label for finding in report.findings if finding.severity is Severity.ERROR}


def run(name, sizes, **options):
    case = make_case(name, make_target("buffer"), sizes)
    return check_kernel(case.function, case.args, case.expected, target="buffer", keep_going=True, **options)


BY_SIZE = pytest.mark.parametrize(
    "sizes", [pytest.param(s, marks=[pytest.mark.slow] * (n > 0)) for n, s in enumerate(SIZES)], ids=str
)


@pytest.mark.share(4.5)
@pytest.mark.parametrize("name", KERNELS)
@BY_SIZE
def test_kernel_is_right(name, sizes):
    report = run(name, sizes, checks="full")
    assert errors_of(report) == set()
    assert all(kernel.compared and not kernel.vacuous for kernel in report.kernels)
    assert not report.unchecked


@pytest.mark.share(4)
@pytest.mark.parametrize("name", DEFECTS)
@BY_SIZE
def test_without_its_fix_a_kernel_has_its_defect(name, sizes):
    fix, expected = DEFECTS[name]
    report = run(name, sizes, checks="full", without_fix=(fix,))
    whole_groups = name == "append" and sizes.dim == 128  # no work-item is left over, and none reads behind the positions
    assert errors_of(report) == (set() if whole_groups else expected)
    races = [finding for finding in report.findings if finding.kind.label == "data-race"]
    assert bool(races) == ("data-race" in expected)
    assert all(race.line and race.detail["earlier"]["line"] for race in races), "both lines are named"


@pytest.mark.parametrize(
    "name", ["decode", "merge", *(pytest.param(name, marks=pytest.mark.slow) for name in ("prefill", "rope"))]
)
def test_values_are_judged_at_level_bounds_too(name):
    """In lockstep, as the simulator's vectors run, the race of merge shows no wrong value if a vector holds all that race."""
    shows = name == "merge" and objects.machine().processor.lane_counts[0] < 16
    found = errors_of(run(name, SIZES[0], checks="bounds", without_fix=("group-update",)))
    assert found == ({"wrong-value"} if shows else set())


def wrong_decode(case):
    """What one page of the cache taken for another would give."""
    pages = case.args[1]
    swapped = pages.copy()
    swapped[case.args[3][0]] = pages[case.args[3][1]]
    case.args[1] = swapped
    return case


def test_a_page_taken_for_another_is_a_wrong_value():
    case = wrong_decode(make_case("decode", make_target("buffer"), SIZES[0]))
    report = check_kernel(case.function, case.args, case.expected, target="buffer")
    assert errors_of(report) == {"wrong-value"}
    assert "is not what its given reference computes" in report.findings[-1].message


def test_a_reference_may_be_tvms_own_variant_for_the_cpu():
    case = make_case("merge", make_target("buffer"), SIZES[0])
    cpu = kv_kernels._module("_decode_kernels")._merge_state_inplace_cpu("float16")
    report = check_kernel(case.function, case.args, cpu, target="buffer")
    assert report.ok
    assert [kernel.status for kernel in report.kernels] == ["ok"]


def test_a_vector_store_whose_address_declares_a_variable_is_refused_or_mended():
    """Attention over whole sequences: TVM's own text does not compile on any driver."""
    with pytest.raises(
        UncompiledError, match=r"batch_sequence_prefill_kv_kernel: .* inside a vector store .* vector-store-address"
    ):
        run("sequence", SIZES[0], pipeline="stock")
    assert run("sequence", SIZES[0]).ok


def scheduled_append(swap_heads=False):
    """Appending to the cache, scheduled for a GPU before it comes here, as MLC's pipeline does."""
    import tvm
    from tvm.s_tir import dlight
    from tvm.script import from_source

    case = make_case("append", make_target("buffer"), SIZES[0])
    function = case.function
    if swap_heads:
        text = function.script().replace("pages[position // 16, 0, vh, ", "pages[position // 16, 0, 1 - vh, ")
        assert text != function.script()
        function = from_source(text)
    with make_target("buffer"):
        module = dlight.ApplyDefaultSchedule(dlight.gpu.Fallback())(tvm.IRModule({"main": function}))
    return module["main"], case


def test_a_function_that_came_scheduled_is_compared_with_what_a_fix_makes_of_it():
    function, case = scheduled_append()
    report = check_kernel(function, case.args, target="buffer", checks="full", keep_going=True)
    assert errors_of(report) == set()
    assert all(kernel.compared for kernel in report.kernels)


def test_a_function_that_came_scheduled_has_its_defect_without_the_fix():
    function, case = scheduled_append()
    report = check_kernel(
        function, case.args, case.expected, target="buffer", checks="full", keep_going=True, without_fix=("condition-range",)
    )
    assert "out-of-bounds-read" in errors_of(report)


def test_a_fix_of_a_function_that_came_scheduled_hides_no_wrong_value():
    function, _ = scheduled_append(swap_heads=True)
    _, case = scheduled_append()
    report = check_kernel(function, case.args, case.expected, target="buffer", checks="full", keep_going=True)
    assert "wrong-value" in errors_of(report)
