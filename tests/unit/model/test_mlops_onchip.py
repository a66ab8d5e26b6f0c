"""The planner of on-chip memory: its rules on small graphs, and on any graph no two living tensors in one place."""

from hypothesis import given, settings
from hypothesis import strategies as st

from adreno_sim.mlops.graph import Entry, Graph, Node
from adreno_sim.mlops.onchip import BufferPool, plan


def _node(op, name, channels, inputs=()):
    """A tensor of 16 * channels bytes in the OPTIMAL layout for a multiple of 4 channels."""
    return Node(op, name, ((1, channels, 1, 1),), ("float32",), tuple(map(Entry, inputs)))


def _chain(*channels):
    nodes = [_node("input", "x", 16)]
    nodes += [_node("kernel", "add", c, (len(nodes) + i - 1,)) for i, c in enumerate(channels)]
    return Graph(tuple(nodes), (Entry(len(nodes) - 1),))


def _at(found):
    return {location.node: (location.memory, location.at) for location in found.locations}


def test_ends_of_the_memory_in_turn():
    found = plan(_chain(16, 32, 16, 16), 1024)
    assert _at(found) == {
        0: ("device", 0), 1: ("on-chip", 1024 - 64), 2: ("on-chip", 0), 3: ("on-chip", 1024 - 64), 4: ("device", 0),
    }  # fmt: skip
    assert (found.on_chip, found.on_chip_peak, found.device, found.rejected) == (64 + 128 + 64, 192, 64, 0)


def test_best_fit_takes_the_smallest_segment():
    """128 bytes go into the hole of 256 at the left end, not into the larger one in the middle."""
    nodes = (
        _node("input", "x", 16),
        _node("kernel", "add", 16, (0,)),  # right end, 960
        _node("kernel", "add", 64, (0,)),  # left end, 0 to 256: free after node 4
        _node("kernel", "add", 16, (0,)),  # right end of the middle, 896
        _node("kernel", "add", 16, (2,)),  # left end of the middle, 256
        _node("kernel", "add", 32, (1,)),  # the next end is the right one: 128 to 256
        _node("kernel", "add", 16, (3, 4, 5)),
    )
    at = _at(plan(Graph(nodes, (Entry(6),)), 1024))
    assert [at[n] for n in range(1, 6)] == [("on-chip", where) for where in (960, 0, 896, 256, 128)]


def test_what_does_not_fit_goes_to_device_memory():
    found = plan(_chain(16, 1024, 16), 1024)
    assert _at(found)[2][0] == "device"
    assert found.rejected == 4096
    assert found.fragmented == 0


def test_fragmentation_is_told():
    nodes = (
        _node("input", "x", 16),
        _node("kernel", "add", 64, (0,)),  # right end, 768 to 1024: free after node 4
        _node("kernel", "add", 64, (0,)),  # left end, 0 to 256
        _node("kernel", "add", 64, (0,)),  # right end of the middle, 512 to 768
        _node("kernel", "add", 16, (1,)),  # left end of the middle, 256 to 320
        _node("kernel", "add", 112, (0,)),  # 448 are free, 192 and 256 of them in one piece
        _node("kernel", "add", 16, (2, 3, 4, 5)),
    )
    found = plan(Graph(nodes, (Entry(6),)), 1024)
    assert _at(found)[5][0] == "device"
    assert (found.fragmented, found.rejected) == (448, 448)


def test_no_on_chip_memory():
    found = plan(_chain(16, 16, 16), 0)
    assert {location.memory for location in found.locations} == {"device"}
    assert found.on_chip_size == 0


def test_graphs_share_device_buffers():
    pool = BufferPool()
    first, second = plan(_chain(16, 16), 0, pool), plan(_chain(16, 16), 0, pool)
    assert first.buffers == second.buffers
    assert len(pool.buffers) == len(first.buffers)


@st.composite
def graphs(draw):
    nodes = [_node("input", f"x{i}", draw(st.integers(1, 80))) for i in range(draw(st.integers(1, 3)))]
    for _ in range(draw(st.integers(1, 12))):
        inputs = draw(st.lists(st.integers(0, len(nodes) - 1), min_size=1, max_size=3))
        nodes.append(_node("kernel", "concatenate", draw(st.integers(1, 80)), inputs))
    heads = draw(st.lists(st.integers(0, len(nodes) - 1), min_size=1, max_size=2, unique=True))
    return Graph(tuple(nodes), tuple(map(Entry, heads)))


@settings(max_examples=150, deadline=None)
@given(graphs(), st.sampled_from([0, 256, 1024, 4096]))
def test_living_tensors_never_share_bytes(graph, size):
    found = plan(graph, size)
    assert {location.node for location in found.locations} == set(range(len(graph.nodes)))
    for location in found.locations:
        if location.memory == "on-chip":
            assert location.at >= 0
            assert location.at + location.nbytes <= size
        else:
            assert location.nbytes <= found.buffers[location.at]
    for index, a in enumerate(found.locations):
        for b in found.locations[:index]:
            if a.memory == b.memory and a.first <= b.last and b.first <= a.last:
                apart = a.at + a.nbytes <= b.at or b.at + b.nbytes <= a.at if a.memory == "on-chip" else a.at != b.at
                assert apart, (a, b)
