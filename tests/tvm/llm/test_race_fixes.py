"""The fixes of races and of reads out of bounds in language models: found by their pattern, and nothing else is changed."""

import pytest

pytest.importorskip("tvm")
import tvm
from kv_kernels import KERNELS, Sizes, make_case
from scan_kernels import SCANS
from tvm.script import tirx as T

from adreno_sim import check_kernel
from adreno_sim.compiler.lower.pipeline import lower
from adreno_sim.compiler.lower.targets import make_target
from adreno_sim.findings import Severity

pytestmark = pytest.mark.tvm

NAMES = ("condition-range", "neighbour-read", "group-update")
NEEDED = {"append": NAMES[:1], "tree": NAMES[:1], "tree-paged": NAMES[:1], "merge": NAMES[2:]}


def sources(function, without=()):
    module = tvm.IRModule({"kernel": function.with_attr("global_symbol", "kernel")})
    return lower(module, make_target("buffer"), "fixed", without).sources


def changed_by(function):
    """The fixes without which the text of a function is another one."""
    fixed = sources(function)
    return tuple(name for name in NAMES if sources(function, (name,)) != fixed)


@pytest.mark.share(3)
@pytest.mark.parametrize("name", KERNELS)
def test_a_fix_changes_what_has_its_defect_alone(name):
    function = make_case(name, make_target("buffer"), Sizes()).function
    assert changed_by(function) == NEEDED.get(name, ())


def test_conditions_in_range_stay():
    """With heads of 128 elements the groups are whole: no position is read behind the end."""
    assert changed_by(make_case("append", make_target("buffer"), Sizes(dim=128)).function) == ()


@pytest.mark.each_value
@pytest.mark.parametrize("name", SCANS)
@pytest.mark.parametrize("without", [(), ("neighbour-read",)], ids=["fixed", "raw"])
def test_scans_race_without_their_fix(name, without):
    target = make_target("buffer")
    case = SCANS[name](target)
    report = check_kernel(
        case.function, case.args, case.expected, target="buffer", checks="full", keep_going=True, without_fix=without
    )
    errors = [finding for finding in report.findings if finding.severity is Severity.ERROR]
    assert {error.kind.label for error in errors} == ({"data-race", "wrong-value"} if without else set())
    assert any(kernel.compared for kernel in report.kernels)
    races = [error for error in errors if error.kind.label == "data-race"]
    assert all(race.line and race.detail["earlier"]["line"] for race in races), "both lines are named"


def sum_of(step, active):
    """Work-items add to their slot of shared memory the one `step` further, where `active` says of a work-item's number."""

    @T.prim_func(s_tir=True)
    def kernel(a: T.Buffer((64,), "float32"), b: T.Buffer((64,), "float32")):
        T.func_attr({"tirx.is_scheduled": True})
        for _ in T.thread_binding(1, thread="blockIdx.x"):
            for tx in T.thread_binding(64, thread="threadIdx.x"):
                with T.sblock():
                    shared = T.sblock_alloc_buffer((64,), "float32", scope="shared")
                    shared[tx] = a[tx]
                    if active(tx):
                        shared[tx] = shared[tx] + shared[tx + step]
                    b[tx] = shared[tx]

    return kernel


@pytest.mark.parametrize(
    ("step", "active", "changed"),
    [(32, lambda tx: tx < 32, ()), (1, lambda tx: tx % 2 == 0, ()), (-1, lambda tx: tx >= 1, NAMES[1:2]),
     (1, lambda tx: tx < 63, NAMES[1:2]), (-1, lambda tx: tx % 2 == 1, ())],
    ids=["halves", "pairs", "scan", "scan down", "odd"],
)  # fmt: skip
def test_reductions_whose_work_items_read_what_nobody_writes_stay(step, active, changed):
    assert changed_by(sum_of(step, active)) == changed


def update(guarded):
    """All work-items read one sum; each writes the new one, or the first alone does."""

    @T.prim_func(s_tir=True)
    def kernel(s: T.Buffer((3,), "float32"), b: T.Buffer((3, 64), "float32")):
        T.func_attr({"tirx.is_scheduled": True})
        for bx in T.thread_binding(3, thread="blockIdx.x"):
            for tx in T.thread_binding(64, thread="threadIdx.x"):
                with T.sblock():
                    b[bx, tx] = s[bx] * T.float32(2)
                    if T.bool(not guarded) or tx == 0:
                        s[bx] = T.float32(1)

    return kernel


def test_a_value_that_one_work_item_writes_stays():
    assert changed_by(update(guarded=False)) == NAMES[2:]
    assert changed_by(update(guarded=True)) == ()
