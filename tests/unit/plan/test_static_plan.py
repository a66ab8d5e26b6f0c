"""The arithmetic of the static plan: valid for any lives, and by TVM's rules on chosen ones."""

from hypothesis import given
from hypothesis import strategies as st

from adreno_sim.compiler.tvm_bridge.static_plan import MATCH_RANGE, Life, plan_storages


@st.composite
def lives(draw):
    drawn = draw(
        st.lists(st.tuples(st.integers(1, 5000), st.integers(0, 20), st.integers(0, 8), st.sampled_from("ab")), max_size=30)
    )
    made = [Life(nbytes, first, first + length, kind) for nbytes, first, length, kind in drawn]
    return sorted(made, key=lambda life: life.first)


@given(lives())
def test_live_tensors_never_share_and_always_fit(tensors):
    plan = plan_storages(tensors)
    assert len(plan.storage_of) == len(tensors)
    for i, a in enumerate(tensors):
        assert plan.sizes[plan.storage_of[i]] >= a.nbytes
        for j, b in enumerate(tensors[:i]):
            if plan.storage_of[i] == plan.storage_of[j]:
                assert a.kind == b.kind
                assert b.last < a.first


@given(lives())
def test_a_storage_is_as_large_as_its_largest_tensor(tensors):
    plan = plan_storages(tensors)
    for number, size in enumerate(plan.sizes):
        assert size == max(life.nbytes for life, storage in zip(tensors, plan.storage_of, strict=True) if storage == number)


@given(lives())
def test_peak_is_never_undercut(tensors):
    """No plan can be smaller than what lives at one time."""
    plan = plan_storages(tensors)
    for step in {life.first for life in tensors}:
        assert sum(life.nbytes for life in tensors if life.first <= step <= life.last) <= sum(plan.sizes)


def test_the_smallest_storage_that_holds_the_tensor_wins():
    plan = plan_storages([Life(100, 0, 0), Life(60, 0, 0), Life(50, 1, 1)])
    assert plan.storage_of == (0, 1, 1)
    assert plan.sizes == (100, 60)


def test_else_the_largest_smaller_one_grows():
    plan = plan_storages([Life(100, 0, 0), Life(60, 0, 0), Life(150, 1, 1)])
    assert plan.storage_of == (0, 1, 0)
    assert plan.sizes == (150, 60)


def test_among_equals_the_one_free_for_longest_wins():
    plan = plan_storages([Life(64, 0, 3), Life(64, 1, 2), Life(64, 4, 4)])
    assert plan.storage_of == (0, 1, 1)


def test_too_different_sizes_do_not_meet():
    large = plan_storages([Life(MATCH_RANGE * 10 + 1, 0, 0), Life(10, 1, 1)])
    small = plan_storages([Life(10, 0, 0), Life(MATCH_RANGE * 11, 1, 1)])
    assert large.storage_of == small.storage_of == (0, 1)
