"""golden.snapshots: recording, comparing, what is kept of a report."""

import json

import pytest

from adreno_sim import AdrenoSimError
from adreno_sim.findings import Finding, Kind
from adreno_sim.results.model import KernelReport, Report
from adreno_sim.results.snapshots import SnapshotFile, summarise


def make():
    report = Report("net", "t", "fixed", (), "d", "bounds", 0, "0.27", 2)
    report.kernels = [
        KernelReport("b", "f", compared=1),
        KernelReport("a", "f", compared=1),
        KernelReport("c", "f", compared=1, wrong=1),
    ]
    report.findings = [
        Finding(Kind.WRONG_VALUE, "m1", "c"),
        Finding(Kind.WRONG_VALUE, "m2", "c"),
        Finding(Kind.UNINFORMATIVE, "v"),
    ]
    report.digests = {"0": "ab"}
    return report


def test_summary_keeps_verdict_statuses_findings_and_digests():
    assert summarise(make()) == {
        "verdict": "findings",
        "kernels": {"ok": ["a", "b"], "wrong": ["c"]},
        "findings": {"error wrong-value c": 2, "warning vacuous-comparison": 1},
        "plan": None,
        "digests": {"0": "ab"},
    }


def test_recorded_snapshots_compare_equal_and_report_what_changed(tmp_path):
    path = tmp_path / "golden.json"
    before = SnapshotFile(path)
    assert "has no snapshot 'net'" in before.difference("net", {"x": 1})
    before.save()
    assert not path.exists()

    recording = SnapshotFile(path, update=True)
    assert recording.difference("net", {"x": 1, "y": (1, 2), "z": {"k": "v"}}) == ""
    assert recording.difference("other", 3) == ""
    recording.save()
    assert json.loads(path.read_text())["schema"] == "adreno-sim/snapshots/1"

    later = SnapshotFile(path)
    assert later.difference("net", {"x": 1, "y": (1, 2), "z": {"k": "v"}}) == ""
    assert later.unused() == ["other"]
    changed = later.difference("net", {"x": 2, "y": [1, 2], "z": {"k": "w"}})
    assert changed.splitlines()[1:] == ["  net.x: was 1, is 2", '  net.z.k: was "v", is "w"']


def test_updating_without_a_change_leaves_the_file_alone(tmp_path):
    path = tmp_path / "golden.json"
    first = SnapshotFile(path, update=True)
    first.difference("a", 1)
    first.save()
    stamp = path.stat().st_mtime_ns
    again = SnapshotFile(path, update=True)
    again.difference("a", 1)
    again.save()
    assert path.stat().st_mtime_ns == stamp


@pytest.mark.parametrize("text", ["{", "[]", '{"schema": "adreno-sim/snapshots/2", "snapshots": {}}'])
def test_damaged_files_are_refused(tmp_path, text):
    path = tmp_path / "golden.json"
    path.write_text(text)
    with pytest.raises(AdrenoSimError, match=r"golden\.json"):
        SnapshotFile(path)
