"""The JSON format of graphs for OpenCL ML: what TVM's runtime loads is read and written, anything else is refused by place."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adreno_sim.base.errors import AdrenoSimError, UnsupportedError
from adreno_sim.mlops.graph import Entry, Graph, Node, parse
from adreno_sim.mlops.kinds import kind_of

SHAPE = ((1, 4, 6, 6),)

ATTRS = {"strides": [1, 1], "groups": 1}

GRAPH = Graph(
    (
        Node("input", "x", SHAPE, ("float32",)),
        Node("const", "w", ((8, 4, 1, 1),), ("float32",)),
        Node("kernel", "openclml.relu.nn.conv2d", ((1, 8, 6, 6),), ("float32",), (Entry(0), Entry(1)), ATTRS),
        Node("kernel", "openclml.relax.nn.relu", ((1, 8, 6, 6),), ("float32",), (Entry(2),)),
    ),
    (Entry(3), Entry(2)),
)  # fmt: skip


def test_round_trip():
    assert parse(GRAPH.to_json()) == GRAPH
    data = json.loads(GRAPH.to_json())
    assert data["arg_nodes"] == [0, 1]
    assert data["heads"] == [[3, 0, 0], [2, 0, 0]]
    assert data["node_row_ptr"] == [0, 1, 2, 3, 4]
    assert data["nodes"][2]["inputs"] == [[0, 0, 0], [1, 0, 0]]
    assert data["nodes"][2]["attrs"] == {
        "strides": [1, 1], "groups": 1, "num_inputs": 2, "num_outputs": 1, "shape": [[1, 8, 6, 6]], "dtype": ["float32"],
    }  # fmt: skip


def _changed(**changes):
    return json.dumps(json.loads(GRAPH.to_json()) | changes)


def _node(number, **changes):
    data = json.loads(GRAPH.to_json())
    data["nodes"][number] |= changes
    return json.dumps(data)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not JSON"),
        ("[]", "expected an object"),
        (_changed(extra=1), "unknown key ['extra']"),
        (_changed(nodes=[]), "expected a list of nodes"),
        (_changed(heads=[]), "at least one entry"),
        (_changed(heads=[[9, 0, 0]]), "there is no entry"),
        (_changed(arg_nodes=[0]), "arg_nodes: expected [0, 1]"),
        (_changed(node_row_ptr=[0, 1]), "node_row_ptr: expected"),
        (_node(2, inputs=[[3, 0, 0]]), "not a node before it"),
        (_node(2, inputs=[[0, 1, 0]]), "no such output"),
        (_node(2, inputs=[[0]]), "expected an entry"),
        (_node(2, inputs=[]), "kernel without inputs"),
        (_node(0, op="weight"), "expected input, const or kernel"),
        (_node(1, name="x"), "one name"),
        (_node(0, attrs={"shape": [[1, -4]], "dtype": ["float32"]}), "expected a list of sizes"),
        (_node(0, attrs={"shape": [[1, 4]], "dtype": []}), "as many shapes as dtypes"),
    ],
)
def test_refused(text, words):
    with pytest.raises(AdrenoSimError) as error:
        parse(text)
    assert words in str(error.value)


def test_names_are_read_as_tvms_runtime_reads_them():
    assert kind_of("openclml.clip.bias.pad.nn.conv2d") == "conv2d"
    assert kind_of("openclml.nn.conv2d_transpose") == "conv2d_transpose"
    assert kind_of("openclml.relu.nn.depthwise_conv2d") == "depthwise_conv2d"
    assert kind_of("nn.dense") == "dense"
    assert kind_of("clip") == "clip"
    for name in ("openclml.relax.clip", "openclml.nn.dense", "openclml.relax.tanh"):
        with pytest.raises(UnsupportedError, match="knows no operator"):
            kind_of(name)


@st.composite
def spoilt(draw):
    """The graph's JSON with one value somewhere in it replaced, or one key gone."""
    data = json.loads(GRAPH.to_json())
    place = data
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = draw(st.sampled_from(keys))
        if isinstance(place[key], (dict, list)) and place[key] and draw(st.booleans()):
            place = place[key]
            continue
        if draw(st.booleans()):
            del place[key]
        else:
            place[key] = draw(
                st.one_of(st.none(), st.integers(-3, 99), st.text(max_size=3), st.just([]), st.just({}), st.just([[1]]))
            )
        return json.dumps(data)


@settings(max_examples=300, deadline=None)
@given(spoilt())
def test_whatever_is_read_is_a_graph_or_refused(text):
    try:
        graph = parse(text)
    except AdrenoSimError:
        return
    assert parse(graph.to_json()) == graph
