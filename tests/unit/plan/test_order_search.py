"""Orders with the lowest peak: against every order of small graphs, never above the given one, the same every time."""

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adreno_sim.compiler.plan.order.graph import StepGraph
from adreno_sim.compiler.plan.order.search import lowest_order


def graph(needs, uses, sizes) -> StepGraph:
    return StepGraph(tuple(range(len(needs))), tuple(map(frozenset, needs)), tuple(map(frozenset, uses)), tuple(sizes))


@st.composite
def graphs(draw, least=1, most=7) -> StepGraph:
    """Steps that make one tensor each and read some of those before."""
    count = draw(st.integers(least, most))
    needs = [draw(st.frozensets(st.integers(0, n - 1), max_size=3)) if n else frozenset() for n in range(count)]
    sizes = [draw(st.integers(1, 20)) for _ in range(count)]
    return graph(needs, [{n, *needed} for n, needed in enumerate(needs)], sizes)


def respects(found: StepGraph, order) -> bool:
    place = {step: n for n, step in enumerate(order)}
    return sorted(order) == list(range(len(found))) and all(
        place[other] < place[step] for step, needed in enumerate(found.needs) for other in needed
    )


@settings(max_examples=150, deadline=None)
@given(graphs())
def test_no_order_of_a_small_graph_has_a_lower_peak(found):
    best = min(found.peak(order) for order in permutations(range(len(found))) if respects(found, order))
    order = lowest_order(found)
    assert respects(found, order.steps)
    assert order.proved
    assert order.peak == found.peak(order.steps) == best


@settings(max_examples=20, deadline=None)
@given(graphs(8, 30), st.sampled_from([0, 5, 50]))
def test_beyond_the_states_it_is_still_an_order_and_never_worse(found, states):
    order = lowest_order(found, states)
    assert respects(found, order.steps)
    assert order.peak == found.peak(order.steps)
    assert lowest_order(found).peak <= order.peak <= found.peak(range(len(found)))
    assert lowest_order(found, states) == order


def fans(count: int, branches: int) -> StepGraph:
    """`count` times in turn: branches that each widen and narrow what came before, written all wide steps first."""
    needs: list[set[int]] = [set()]
    sizes = [4]
    for _ in range(count):
        root, wide = len(needs) - 1, len(needs)
        needs += [{root}] * branches + [{wide + n} for n in range(branches)]
        sizes += [100] * branches + [1] * branches
        needs.append({wide + branches + n for n in range(branches)})
        sizes.append(4)
    return graph(needs, [{n, *needed} for n, needed in enumerate(needs)], sizes)


def test_branches_run_one_after_the_other():
    found = fans(3, 4)
    order = lowest_order(found)
    assert found.peak(range(len(found))) == 4 + 4 * 100
    assert order.proved
    assert order.peak == 4 + 3 * 1 + 100


@pytest.mark.parametrize(("count", "branches"), [(100, 4), (1, 16), (10, 8)])
def test_large_graphs_are_cut_and_dominated_steps_taken_at_once(count, branches):
    found = fans(count, branches)
    order = lowest_order(found)
    assert respects(found, order.steps)
    assert order.peak == 4 + (branches - 1) + 100
    assert order.proved == (branches < 16)


def test_a_graph_without_steps():
    assert lowest_order(graph([], [], [])).steps == ()
