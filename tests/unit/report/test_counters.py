"""Counters in reports: their JSON against its schema, what follows from them, the table and the page."""

from __future__ import annotations

import io
import json
from html.parser import HTMLParser

import pytest
from validators import validator

from adreno_sim.device.counters import LaunchCounters, MemoryCounters, PlaceCounters
from adreno_sim.findings import Finding, Kind
from adreno_sim.render.launch import encode as launch_encode
from adreno_sim.render.launch import html as launch_html
from adreno_sim.render.launch import text as launch_text
from adreno_sim.render.report import html, text
from adreno_sim.results import encode
from adreno_sim.results.counters import counters_to_json
from adreno_sim.results.launch_report import LaunchReport
from adreno_sim.results.model import KernelReport, Report

BUFFER = MemoryCounters(
    "a<b", "buffer", reads=128, writes=128, read_bytes=512, written_bytes=512, unique_read_bytes=256, unique_written_bytes=512,
    unique_bytes=512, traced=256, wave_accesses=4, transactions=24, least=16,
)  # fmt: skip
IMAGE = MemoryCounters(
    "img", "image", reads=64, read_bytes=1024, unique_read_bytes=1024, unique_written_bytes=0, unique_bytes=1024, texel_bytes=16,
    traced=64, wave_accesses=1, transactions=16, least=16, wave_reads=64, wave_lines=16,
)  # fmt: skip
LOCAL = MemoryCounters("local", "local", reads=64, read_bytes=256, traced=64, wave_accesses=1, transactions=4, least=2)
COUNTERS = LaunchCounters(
    work_items=128, groups=2, operations={"float32": 1024, "int32": 512, "special": 128}, memory=(BUFFER, IMAGE, LOCAL),
    unique_read_bytes=1280, unique_written_bytes=512, unique_bytes=1536, barriers=3, branches=256, wave_size=64, line_bytes=64,
    traced_groups=2, traced_waves=2, traced_branches=256, wave_branches=4, divergent=1,
    places=(
        PlaceCounters("3:7", "read", "a<b", 4, 24, 16), PlaceCounters("4:1", "write", "a<b", 2, 8, 8),
        PlaceCounters("5:3", "branch", "", 4, 1, 0),
    ),
)  # fmt: skip
NOTHING = LaunchCounters(1, 1, {}, (), 0, 0, 0, 0, 0, 64, 64, 1, 1, 0, 0, 0)


def validate(name: str, data: object) -> None:
    validator(name).validate(data)


def make_report(counters: LaunchCounters | None) -> Report:
    report = Report("net", "texture", "fixed", (), "Adreno 740", "bounds", 0, "0.27.0", 1)
    report.kernels = [KernelReport("k<1>", "k", 2, 0.5, counters=counters), KernelReport("other", "other", 1, 0.1)]
    return report


def make_launch(counters: LaunchCounters | None) -> LaunchReport:
    return LaunchReport("k", "k.cl", "k.toml", "", "Adreno 740", "bounds", (128,), (64,), counters=counters)


def shown(show, *given) -> str:
    out = io.StringIO()
    show(*given, out)
    return out.getvalue()


@pytest.mark.parametrize("counters", [COUNTERS, NOTHING, COUNTERS + COUNTERS, None])
def test_json_follows_its_schema(counters):
    validate("counters", counters_to_json(counters))
    validate("report", json.loads(json.dumps(encode.report_to_json(make_report(counters)))))
    validate("launch-report", json.loads(json.dumps(launch_encode.to_json(make_launch(counters)))))


def test_what_follows_from_figures():
    exact, model = (counters_to_json(COUNTERS)[key] for key in ("exact", "model"))
    assert exact["read_bytes"] == 512 + 1024
    assert exact["written_bytes"] == 512
    assert exact["operations_per_byte"] == (1024 + 512 + 128) / (1280 + 512)
    assert exact["float_operations_per_byte"] == (1024 + 128) / (1280 + 512)
    assert [row["reuse"] for row in exact["memory"]] == [2.0, 1.0, None]
    assert [row["name"] for row in model["memory"]] == ["a<b", "img"]
    assert model["local"] == {"traced": 64, "wave_accesses": 1, "passes": 4, "least": 2}
    assert model["textures"] == [{"name": "img", "texels": 64, "lines": 16}]
    assert counters_to_json(NOTHING)["exact"]["operations_per_byte"] is None


def test_launches_add_up():
    twice = COUNTERS + COUNTERS
    assert (twice.launches, twice.work_items, twice.operations["int32"], twice.divergent) == (2, 256, 1024, 2)
    assert twice.wave_size == 64
    assert [row.transactions for row in twice.memory] == [48, 32, 8]
    assert twice.memory[2].unique_bytes is None
    assert twice.memory[0].unique_bytes == 1024
    assert twice.places[0] == PlaceCounters("3:7", "read", "a<b", 8, 48, 32)
    assert len(twice.places) == 3
    other = NOTHING + COUNTERS
    assert other.memory == COUNTERS.memory
    assert other.operations == COUNTERS.operations


def test_tables_say_what_is_a_model():
    said = shown(text.show, make_report(COUNTERS))
    assert "lines/least*" in said
    assert "1.25" in said
    assert "2 of 2 groups traced" in said
    assert "25.0%" in said
    assert "model: waves of" not in shown(text.show, make_report(None))
    said = shown(launch_text.show, make_launch(COUNTERS))
    assert "operations: float32 1,024, int32 512, special 128" in said
    assert "barriers: 1.50 a group" in said
    assert "1,536 bytes read, 1,280 of them distinct; 512 written, 512 distinct; 0.64 floating-point" in said
    assert "2 of them for bank conflicts" in said
    assert "4.0 texels a line, 8.0 lines a wave" in said
    assert "3:7" in said
    assert "branch" in said
    assert "4:1" not in said
    assert "operations: none" in shown(launch_text.show, make_launch(NOTHING))


def test_the_page_shows_them():
    page = html.of_report(make_report(COUNTERS))
    assert "<h2>Counters</h2>" in page
    assert "k&lt;1&gt;" in page
    assert "a&lt;b (buffer)" in page
    HTMLParser().feed(page)
    assert "Counters" not in html.of_report(make_report(None))


def test_the_page_of_a_launch():
    launch = make_launch(COUNTERS)
    launch.text = "kernel void k() {\n  a < b;\n}\n"
    launch.findings = [Finding(Kind.DATA_RACE, "two", "k", 2, 3, file="k.cl")]
    launch.unchecked, launch.printed = ["values: <none>"], "x < y"
    page = launch_html.of_report(launch)
    HTMLParser().feed(page)
    assert "<mark>    2   a &lt; b;</mark>" in page
    assert "values: &lt;none&gt;" in page
    assert "x &lt; y" in page
    assert "<h2>Counters</h2>" in page
    assert "a&lt;b (buffer)" in page
    assert "128 work-items in groups: 64" in page
    assert "Counters" not in launch_html.of_report(make_launch(None))
