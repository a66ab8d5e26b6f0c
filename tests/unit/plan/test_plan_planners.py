"""The planners that follow others, on cases worked by hand from their rules."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from adreno_sim.base.errors import AdrenoSimError, UnsupportedError
from adreno_sim.compiler.plan import planners
from adreno_sim.compiler.plan.planners.unordered import UnorderedSet
from adreno_sim.compiler.plan.problem import Item, Problem, from_lifetimes
from adreno_sim.compiler.plan.search.improve import Effort

OF_PROBLEMS = [name for name in planners.names() if not planners.places(name)]


def buffers(*rows: tuple[int, int, int], dtype: str = "float32") -> Problem:
    """(size, start, end) as buffers named by their number."""
    items = (Item(str(number), size, start, end, dtype=dtype) for number, (size, start, end) in enumerate(rows))
    return Problem(tuple(items))


def texture(key: str, width: int, height: int, start: int, end: int, dtype: str = "float32", **more) -> Item:
    nbytes = width * height * 4 * (2 if dtype == "float16" else 4)
    return Item(key, nbytes, start, end, "global.texture", dtype, (height, width, 4), nbytes, **more)


def storages(name: str, problem: Problem, **options) -> list[int]:
    allocation = planners.plan(name, problem, **options)
    return sorted(allocation.storages)


def test_naive_gives_each_its_own():
    assert storages("naive", buffers((5, 0, 1), (7, 1, 2))) == [5, 7]


POOLED = ["tvm", "tvm-fixed", "relay-1d2d", "unified"]


@pytest.mark.parametrize("name", POOLED)
@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([(100, 0, 2), (90, 2, 4)], [100]),  # freed at 2, and 90 fits
        ([(100, 0, 2), (90, 1, 4)], [90, 100]),  # live together
        ([(100, 0, 2), (6, 2, 3)], [6, 100]),  # 100 > 16 * 6
        ([(96, 0, 2), (6, 2, 3)], [96]),  # 96 = 16 * 6
        ([(10, 0, 2), (175, 2, 3)], [175]),  # 175 // 16 = 10: the storage grows
        ([(10, 0, 2), (176, 2, 3)], [10, 176]),  # 176 // 16 = 11
        ([(10, 0, 2), (50, 0, 2), (30, 0, 2), (40, 2, 3)], [10, 30, 50]),  # the smallest that holds it
        ([(10, 0, 2), (30, 0, 2), (20, 0, 2), (40, 2, 3)], [10, 20, 40]),  # none holds it: the largest grows
    ],
)
def test_the_one_dimensional_rule(name, rows, expected):
    assert storages(name, buffers(*rows)) == expected


@pytest.mark.parametrize("name", POOLED)
def test_a_grown_storage_is_found_at_its_new_size(name):
    # 10 grows to 100 at time 2; at 4 a request of 100 takes it whole, and 101 would have grown it again.
    assert storages(name, buffers((10, 0, 2), (100, 2, 4), (100, 4, 6))) == [100]
    assert storages(name, buffers((10, 0, 2), (100, 2, 4), (5, 4, 6))) == [5, 100]  # 100 > 16 * 5


def test_among_equals_the_first_released_goes_first():
    allocation = planners.plan("tvm-fixed", buffers((8, 0, 3), (8, 0, 2), (8, 3, 4)))
    assert allocation.storage_of == (0, 1, 1)


def test_the_defect_of_tvm_multiplies_textures_by_the_item_size():
    image = Item("t", 50176, 0, 2, "global.texture", "float32", (1, 4, 28, 28, 4), 50176)
    assert storages("tvm", Problem((image,))) == [200704]
    assert storages("tvm-fixed", Problem((image,))) == [50176]
    assert storages("tvm", Problem((texture("h", 16, 10, 0, 1, "float16"),))) == [2 * 16 * 10 * 8]
    assert storages("tvm", buffers((50176, 0, 2))) == [50176]


def test_the_defect_changes_what_matches():
    # A texture of 160 bytes counts as 640: a buffer of 39 bytes no longer finds it within 16 times its size.
    items = (texture("t", 10, 1, 0, 1), Item("b", 39, 1, 2, dtype="float32"))
    assert storages("tvm", Problem(items)) == [39, 640]
    assert storages("tvm-fixed", Problem(items)) == [160]


def test_dtypes_share_only_where_the_planner_lets_them():
    items = (Item("a", 64, 0, 1, dtype="float32"), Item("b", 64, 1, 2, dtype="float16"))
    assert storages("tvm-fixed", Problem(items)) == [64, 64]
    assert storages("unified", Problem(items)) == [64]
    assert storages("relay-1d2d", Problem(items)) == [64]


def test_textures_and_buffers_share_only_where_the_planner_lets_them():
    items = (texture("t", 4, 4, 0, 1), Item("b", 256, 1, 2, dtype="float32"))
    assert storages("tvm-fixed", Problem(items)) == [256]
    assert storages("unified", Problem(items)) == [256]
    assert storages("relay-1d2d", Problem(items)) == [256, 256]
    assert storages("texture-pool", Problem(items)) == [256, 256]


def test_the_texture_pool_depends_on_the_order_of_release():
    # For 6 x 12 texels, 10 x 10 would grow by (0, 2) and 4 x 20 by (2, 0): each beats the other on one axis, the later wins.
    first_last = Problem((texture("a", 10, 10, 0, 3), texture("b", 4, 20, 1, 2), texture("c", 6, 12, 4, 5)))
    assert storages("texture-pool", first_last) == [4 * 20 * 16, 10 * 12 * 16]  # released b, a
    assert storages("relay-1d2d", first_last) == [10 * 10 * 16, 6 * 20 * 16]  # by number: a, b
    first_first = Problem((texture("a", 10, 10, 0, 2), texture("b", 4, 20, 1, 3), texture("c", 6, 12, 4, 5)))
    assert storages("texture-pool", first_first) == [10 * 10 * 16, 6 * 20 * 16]


@pytest.mark.parametrize("name", ["texture-pool", "relay-1d2d"])
def test_a_texture_that_fits_beats_one_that_must_grow(name):
    items = (texture("a", 8, 8, 0, 2), texture("b", 6, 7, 0, 2), texture("c", 5, 5, 0, 2), texture("d", 6, 6, 2, 3))
    allocation = planners.plan(name, Problem(items))
    assert allocation.storage_of == (0, 1, 2, 1)
    assert allocation.storages == (8 * 8 * 16, 6 * 7 * 16, 5 * 5 * 16)


@pytest.mark.parametrize("name", ["texture-pool", "relay-1d2d"])
def test_textures_more_than_five_times_apart_are_not_shared(name):
    wide = Problem((texture("a", 60, 4, 0, 1), texture("b", 10, 4, 1, 2)))
    assert storages(name, wide) == [10 * 4 * 16, 60 * 4 * 16]  # 60 // 10 = 6
    near = Problem((texture("a", 59, 4, 0, 1), texture("b", 10, 4, 1, 2)))
    assert storages(name, near) == [59 * 4 * 16]  # 59 // 10 = 5


def test_the_texture_pool_mixes_halves_and_singles():
    reused = Problem((texture("h", 8, 8, 0, 1, "float16"), texture("s", 8, 8, 1, 2)))
    allocation = planners.plan("texture-pool", reused)
    assert allocation.storages == (8 * 8 * 8,)
    assert allocation.violations() == ["s: does not fit the 8 x 8 float16 texture of storage 0"]
    assert storages("relay-1d2d", reused) == [8 * 8 * 8, 8 * 8 * 16]
    grown = Problem((texture("h", 8, 8, 0, 1, "float16"), texture("s", 8, 9, 1, 2)))
    allocation = planners.plan("texture-pool", grown)  # made anew, then of the new dtype
    assert allocation.storages == (8 * 9 * 16,)
    assert not allocation.violations()


def test_relay_keeps_texture_scopes_apart():
    weight = Item("w", 1024, 1, 2, "global.texture-weight", "float32", (8, 8, 4), 1024)
    assert storages("relay-1d2d", Problem((texture("a", 8, 8, 0, 1), weight))) == [1024, 1024]
    assert storages("texture-pool", Problem((texture("a", 8, 8, 0, 1), weight))) == [1024]


def test_a_pooled_texture_is_padded_as_the_device_pads():
    items = (texture("a", 5, 8, 0, 1), texture("b", 7, 4, 1, 2))
    problem = Problem(items, texture_size=lambda spec: spec.shape[0] * 128)  # rows of 128 bytes
    assert storages("texture-pool", problem) == [8 * 128]


SMALL = [(30, 0, 2), (20, 1, 3), (10, 0, 3), (10, 2, 3)]


@pytest.mark.parametrize("name", ["tflite-size", "tflite-breadth", "tflite-objects"])
def test_shared_objects(name):
    # The last reuses the object of the first: the others are live with it.
    allocation = planners.plan(name, buffers(*SMALL))
    assert sorted(allocation.storages) == [10, 20, 30]
    assert allocation.storage_of[3] == allocation.storage_of[0]


def test_breadth_lets_an_object_grow():
    # Task 1 uses most: 50 and 40 make objects. Then task 3 (60): none holds it, the larger of the free ones grows.
    assert storages("tflite-breadth", buffers((50, 1, 2), (40, 1, 2), (60, 3, 4))) == [40, 60]


def test_breadth_takes_the_smallest_object_that_holds_the_tensor():
    allocation = planners.plan("tflite-breadth", buffers((50, 0, 1), (40, 0, 1), (30, 0, 1), (35, 2, 3)))
    assert allocation.storage_of[3] == allocation.storage_of[1]


def test_size_takes_the_object_nearest_in_time():
    # Maxima are 50, 40, 35, so that 50 and 40 come first. Then 30 is 4 after the one and 2 after the other.
    allocation = planners.plan("tflite-size", buffers((50, 0, 2), (40, 1, 4), (30, 5, 6), (35, 1, 2)))
    assert allocation.storage_of[2] == allocation.storage_of[1]


def test_size_puts_the_nearer_tensor_first():
    # Maxima are 50, 20. Of position 1, the last is nearest to the object of the first (1) and joins it; then 19 is 1 from it.
    allocation = planners.plan("tflite-size", buffers((50, 0, 2), (20, 1, 2), (19, 3, 4), (18, 2, 3)))
    assert allocation.storage_of[3] == allocation.storage_of[2]


def _by_size_from_scratch(problem: Problem) -> int:
    """The rule of tflite-size with every distance computed anew at every step."""
    items = problem.items
    times = range(max(item.end for item in items))
    profiles = [sorted((i.size for i in items if i.start <= t < i.end), reverse=True) for t in times]
    maxima = [max(p[k] for p in profiles if len(p) > k) for k in range(max(map(len, profiles)))]
    objects: list[list[Item]] = []
    left = list(items)

    def gap(a: Item, b: Item) -> int:
        return max(b.start - a.last, a.start - b.last)

    def nearest(item: Item) -> tuple[int, int]:
        options = [(min(gap(item, m) for m in o), n) for n, o in enumerate(objects) if all(gap(item, m) > 0 for m in o)]
        best = min(options, default=(10**9, -1))
        assume(sum(distance == best[0] for distance, _ in options) < 2)  # between equals the rule leaves a choice
        return best

    while left:
        chosen = min(left, key=lambda i: (sum(m >= i.size for m in maxima), nearest(i)[0], -i.size))
        left.remove(chosen)
        number = nearest(chosen)[1]
        objects.append([chosen]) if number < 0 else objects[number].append(chosen)
    return sum(max(item.size for item in members) for members in objects)


rows = st.lists(st.tuples(st.integers(1, 40), st.integers(0, 20), st.integers(1, 8)), min_size=1, max_size=14)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(rows)
def test_size_equals_the_rule_from_scratch(rows):
    problem = buffers(*((size, start, start + length) for size, start, length in rows))
    assert planners.plan("tflite-size", problem).total == _by_size_from_scratch(problem)


def test_arena_of_tflite():
    # 30 at 0, 20 on top of it, 10 (live with both) on top of them, 10 (live with 20 and 10) into the gap below 20.
    allocation = planners.plan("tflite-arena", buffers(*SMALL))
    assert allocation.offsets == (0, 30, 50, 0)
    assert allocation.storages == (60,)


def test_arena_of_tflite_takes_the_smallest_gap():
    # The first four stack up to 0, 40, 79, 117; what is live with the last leaves it gaps of 40 (at 0) and 38 (at 79).
    allocation = planners.plan("tflite-arena", buffers((40, 0, 5), (39, 4, 9), (38, 0, 5), (37, 4, 9), (12, 5, 9)))
    assert allocation.offsets == (0, 40, 79, 117, 79)


def test_arena_of_tflite_aligns():
    items = tuple(Item(str(n), 100, 0, 1, alignment=64) for n in range(3))
    allocation = planners.plan("tflite-arena", Problem(items))
    assert allocation.offsets == (0, 128, 256)
    assert allocation.storages == (356,)


def test_tflite_takes_the_arena_only_where_it_fits():
    problem = buffers(*SMALL, (35, 4, 5))
    assert planners.plan("tflite", problem).storages == (60,)
    small = Problem(problem.items, max_allocation=59)
    assert len(planners.plan("tflite", small).storages) == 3


def test_shared_objects_refuse_what_would_take_minutes():
    with pytest.raises(UnsupportedError, match="20000 tensors: shared objects are for at most 10000"):
        planners.plan("tflite-size", from_lifetimes([(str(n), n, n + 1, 1) for n in range(20_000)]))


def test_an_unknown_planner_is_named():
    with pytest.raises(AdrenoSimError, match=r"planner 'tvmfixed' does not exist \(did you mean tvm-fixed"):
        planners.plan("tvmfixed", buffers())


@pytest.mark.parametrize("name", [name for name in OF_PROBLEMS if name != "optimal"])
def test_nothing_to_plan(name):
    assert planners.plan(name, Problem(())).total == 0


dtypes = st.sampled_from(["float32", "float16"])


@st.composite
def mixed_items(draw) -> Problem:
    """Buffers and textures, aligned or not."""
    items = []
    for number in range(draw(st.integers(1, 24))):
        start = draw(st.integers(0, 30))
        end = start + draw(st.integers(1, 12))
        alignment = draw(st.sampled_from([16, 64]))
        if draw(st.booleans()):
            width, height = draw(st.integers(1, 20)), draw(st.integers(1, 20))
            items.append(texture(str(number), width, height, start, end, draw(dtypes), alignment=alignment))
        else:
            items.append(Item(str(number), draw(st.integers(1, 9000)), start, end, dtype=draw(dtypes), alignment=alignment))
    return Problem(tuple(items))


@settings(max_examples=25, deadline=None)
@given(mixed_items(), st.sampled_from([name for name in OF_PROBLEMS if name not in ("optimal", "texture-pool")]))
def test_every_plan_is_valid_and_not_below_the_bound(problem, name):
    options = {"effort": Effort(work=20_000_000)} if name == "arena" else {}  # the whole takes seconds above the bound
    allocation = planners.plan(name, problem, **options)
    assert allocation.violations() == []
    assert allocation.total >= problem.lower_bound(allocation.unit)
    again = planners.plan(name, problem, **options)
    assert (again.storages, again.storage_of, again.offsets) == (allocation.storages, allocation.storage_of, allocation.offsets)


@settings(max_examples=25, deadline=None)
@given(mixed_items())
def test_the_texture_pool_breaks_nothing_but_dtypes(problem):
    allocation = planners.plan("texture-pool", problem)
    assert all("float16 texture" in message for message in allocation.violations())
    assert len(allocation.storages) <= len(problem.items)


def test_free_textures_are_gone_through_as_libstdcxx_does():
    """As a program with std::unordered_set<int64_t> printed: fronts of buckets, else of the list, growth at 13."""
    found = UnorderedSet()
    for number in (3, 16, 1, 29, 14):
        found.insert(number)
    assert list(found) == [14, 1, 29, 16, 3]
    found.erase(29)
    for number in range(40, 50):
        found.insert(number)
    assert list(found) == [49, 3, 42, 1, 40, 41, 14, 43, 44, 16, 45, 46, 47, 48]
