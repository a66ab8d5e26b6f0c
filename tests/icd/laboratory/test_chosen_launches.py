"""Launches of a recording are listed and chosen; what is left out is said, and is never right because nobody looked."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from recorded_client import record, replay

from adreno_sim.base.allow import read_file
from adreno_sim.cli.main import main
from adreno_sim.cli.recordings.allow_text import list_entries
from adreno_sim.findings import Finding, Kind

TWO_BAD = """
shim.build(1, '''kernel void good(global int *o, int by) { o[get_global_id(0)] = by; }
kernel void bad(global int *o, int by) { o[get_global_id(0) + by] = 1; }''')
(place, *_) = shim.buffer(1, 64)
host(1, place, np.arange(16, dtype=np.int32))
for kernel, by in ((0, 3), (1, 4), (0, 5), (1, 2), (1, 0)):
    shim.launch(1, kernel, (16,), (8,), [buffer(1), value(struct.pack("<i", by))])
shim.host_read(1, 0, 64)
"""
BAD = "out-of-bounds-write"


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    return record(tmp_path_factory.mktemp("two"), TWO_BAD)[2]


@pytest.mark.representative
def test_the_list_has_each_launch(trace, tmp_path, capsys) -> None:
    status, data = replay(tmp_path, trace, "--list", "--time", "--counters")
    rows = data["processes"][0]["launches"]
    assert status == 1
    assert [(row["number"], row["kernel"]) for row in rows] == list(enumerate(["good", "bad", "good", "bad", "bad"], 1))
    assert [row["findings"] for row in rows] == [{}, {BAD: 4}, {}, {BAD: 2}, {}]
    assert all(row["global_size"] == [16] and row["local_size"] == [8] for row in rows)
    assert all(row["predicted"] > 0 and row["seconds"] >= 0 for row in rows)
    assert rows[3]["arguments"] == ["o = buffer 1 of 64 bytes", "by = 2"]
    assert [(one["kernel"], one["counters"]["launches"]) for one in data["counters"]] == [("good", 2), ("bad", 3)]
    assert {one["name"]: one["launches"] for one in data["time"]["kernels"]} == {"good": 2, "bad": 3}
    shown = capsys.readouterr().out
    assert "16" in shown
    assert "by = 2" in shown
    assert "4 out-of-bounds-write" in shown
    assert "float ops" in shown


@pytest.mark.parametrize(
    ("words", "checked", "found"),
    [
        (["--launch", "2"], [2], 4),
        (["--launch", "5"], [5], 0),
        (["--cut", "3:4"], [3, 4], 2),
        (["--cut", "4:"], [4, 5], 2),
        (["--cut", ":1"], [1], 0),
        (["--kernels", "^ba."], [2, 4, 5], 6),
        (["--kernels", "bad", "--skip-launches", "1"], [4, 5], 2),
        (["--kernels", "bad", "--skip-launches", "1", "--launches", "1"], [4], 2),
        (["--launches", "2"], [1, 2], 4),
        (["--cut", "3:", "--kernels", "bad", "--launches", "1"], [4], 2),
    ],
)
@pytest.mark.parametrize("checks", ["bounds", "full"])
def test_what_is_chosen_is_checked_and_the_rest_is_said(trace, tmp_path, words, checked, found, checks) -> None:
    status, data = replay(tmp_path, trace, "--list", "--checks", checks, *words)
    process, left = data["processes"][0], 5 - len(checked)
    assert [row["number"] for row in process["launches"]] == checked
    assert (process["checked_launches"], process["left_out"]) == (len(checked), left)
    counts = {one["kind"]: one["count"] for one in data["findings"]}
    assert counts == {"launches-left-out": 1, **({BAD: found} if found else {})}
    assert status == (1 if found else 0)
    assert f"{len(checked)} of 5 launches checked" in data["verdict"]
    assert f"{left} launches that the filter leaves out" in " ".join(data["unchecked"])
    assert replay(tmp_path, trace, "--checks", checks, "--strict", *words)[0] == 1


def test_nothing_checked_is_not_ok(trace, tmp_path) -> None:
    for words in (["--kernels", "nothing"], ["--launch", "6"], ["--skip-launches", "5"]):
        status, data = replay(tmp_path, trace, *words)
        assert status == 2
        assert "none of 5 launches was checked" in data["verdict"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--kernels", "(a"], "missing )"),
        (["--cut", "4:2"], "expected FROM:TO"),
        (["--cut", "4"], "expected FROM:TO"),
        (["--launch", "x"], "expected a number"),
        (["--launch", "1", "--cut", "1:"], "not allowed with"),
        (["--max-findings", "0"], "1 or more"),
        (["--launches", "-1"], "1 or more"),
    ],
)
def test_bad_words_are_refused_in_one_line(trace, words, said, capsys) -> None:
    assert main(["replay", str(trace), *words]) == 2
    error = capsys.readouterr().err
    assert said in error, error
    assert "Traceback" not in error, error
    assert error.strip().count("\n") == 0, error


def test_few_findings_are_shown_and_all_are_counted(trace, tmp_path, capfd) -> None:
    """Those beyond the limit decide the verdict all the same."""
    status, data = replay(tmp_path, trace, "--max-findings", "1", "--kernels", "bad")
    assert status == 1
    assert "1 error, 1 warning" in data["verdict"]
    assert "1 findings not shown" in data["verdict"]
    assert [one["kind"] for one in data["findings"]] == [BAD]
    assert data["findings_not_shown"] == 1
    capfd.readouterr()


def test_an_allow_list_is_written_from_a_run(trace, tmp_path) -> None:
    known = tmp_path / "known.toml"
    assert replay(tmp_path, trace, "--write-allow", str(known))[0] == 1
    status, data = replay(tmp_path, trace, "--allow", str(known), "--strict")
    assert status == 0
    assert len(data["allowed"]) == 1
    assert data["allowed"][0]["reason"].startswith("found on ")
    again = tmp_path / "again.toml"
    assert replay(tmp_path, trace, "--allow", str(known), "--write-allow", str(again), "--launch", "5")[0] == 0
    assert "launches-left-out" in again.read_text()
    assert BAD not in again.read_text()


def test_the_inside_of_kernels_is_shown_once(trace, tmp_path, capsys) -> None:
    replay(tmp_path, trace, "--dump", "ir", "--dump", "llvm", "--dump", "proofs", "--cut", "2:5")
    shown = capsys.readouterr().out
    assert shown.count("; proofs of kernel bad: ") == 1 == shown.count("; proofs of kernel good: ")
    assert "define" in shown
    assert shown.index("proofs of kernel bad") < shown.index("proofs of kernel good")


def test_a_run_takes_the_same_filters(tmp_path, capfd) -> None:
    page = tmp_path / "page.html"
    status, data, _ = record(tmp_path, TWO_BAD, "--kernels", "bad", "--skip-launches", "1", "--html", str(page))
    assert status == 1
    assert "2 of 5 launches checked" in data["verdict"]
    assert [(one["kind"], one["count"]) for one in data["findings"]] == [(BAD, 2), ("launches-left-out", 1)]
    assert "launches that the filter leaves out" in page.read_text()
    assert "launches-left-out" in json.dumps(data)
    status, data, _ = record(tmp_path, TWO_BAD, "--kernels", "good")
    assert status == 0
    assert "2 of 5 launches checked" in data["verdict"]
    status, data, _ = record(tmp_path, TWO_BAD, "--kernels", "good", "--strict")
    assert status == 1
    assert data["verdict"].startswith("findings: 0 errors, 1 warning, 2 of 5 launches checked")
    assert main(["run", "--kernels", "a{3", "--kernels", "[", "--", "true"]) == 2
    assert "unterminated character set" in capfd.readouterr().err


@pytest.mark.parametrize("name", ["odd\x1b[31m*?[x]", "ünï\udcff", "::error::x"])
def test_an_allow_list_accepts_names_of_any_characters(tmp_path, name) -> None:
    found = Finding(Kind.DATA_RACE, f"message of {name}", name, line=3, column=4, file=f"{name}.cl")
    file = tmp_path / "known.toml"
    file.write_text(list_entries([found, replace(found, line=0, column=0)]))
    entries = read_file(file)
    assert all(any(entry.accepts(one) for entry in entries) for one in (found, replace(found, line=0, column=0)))
    assert not any(entry.accepts(replace(found, kernel="another")) for entry in entries)
