"""Findings of a model: the nodes that they are of, in every form, and places in a file that exists."""

from adreno_sim.findings import Finding, Kind, Note
from adreno_sim.render.report import annotations, sarif
from adreno_sim.render.report.model_places import place_at_model
from adreno_sim.results import finding_text
from adreno_sim.results.verdict.finding_json import finding_to_json

WRONG = Finding(
    Kind.WRONG_VALUE, "2 of 4 wrong", "conv_kernel", 7, 3, nodes=("conv1", "conv2"), notes=(Note("there", 9), Note("so"))
)  # fmt: skip


def test_a_finding_of_a_model_is_at_its_file_and_its_place_in_the_kernel_a_note():
    (placed,) = place_at_model([WRONG], "m.onnx")
    assert (placed.file, placed.line, placed.column) == ("m.onnx", 1, 0)
    assert [(note.file, note.line) for note in placed.notes] == [("conv_kernel.cl", 7), ("conv_kernel.cl", 9), ("", 0)]
    plan = Finding(Kind.PLAN_INFLATED, "more than needed")
    assert place_at_model([plan], "m.onnx")[0].file == "m.onnx"
    assert not place_at_model([plan], "m.onnx")[0].notes
    own = Finding(Kind.DATA_RACE, "race", "k", 3, file="k.cl")
    assert place_at_model([own], "m.onnx") == [own]


def test_nodes_are_named_in_every_form():
    (placed,) = place_at_model([WRONG], "m.onnx")
    (result,) = sarif.to_sarif([placed], sources={"conv_kernel.cl": "kernel"})["runs"][0]["results"]
    place = result["locations"][0]
    assert place["physicalLocation"]["artifactLocation"]["uri"] == "m.onnx"
    assert [part["name"] for part in place["logicalLocations"]] == ["conv_kernel", "conv1", "conv2"]
    assert "nodes conv1, conv2" in result["message"]["text"]
    line = annotations.annotation(placed)
    assert line.startswith("::error file=m.onnx,line=1,title=wrong-value::kernel conv_kernel (nodes conv1, conv2): 2 of 4 wrong")
    assert "conv_kernel.cl:7: here" in line
    assert "  nodes conv1, conv2" in finding_text.lines(WRONG)
    assert finding_to_json(WRONG)["nodes"] == ["conv1", "conv2"]


def test_of_many_nodes_a_few_are_named():
    many = Finding(Kind.WRONG_VALUE, "wrong", nodes=tuple(f"n{i}" for i in range(7)))
    assert finding_text.node_words(many) == "nodes n0, n1, n2 and 4 more"
    assert finding_text.node_words(Finding(Kind.WRONG_VALUE, "wrong", nodes=("n0",))) == "node n0"
