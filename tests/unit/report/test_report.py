"""Reports: verdicts and exit codes, merging, text, JSON against its schema."""

import io
import json
import math

import pytest
from validators import validator

from adreno_sim import AdrenoSimError
from adreno_sim.base import json_io
from adreno_sim.findings import Access, Finding, Kind, WorkItem
from adreno_sim.render.report import text
from adreno_sim.results import encode, finding_text
from adreno_sim.results.merge import FindingList
from adreno_sim.results.model import AccessReport, InputReport, KernelReport, OutputReport, Report
from adreno_sim.results.plan_summary import PlanSummary

ITEM = WorkItem((5, 1, 0), (1, 1, 0), (1, 0, 0))
WRITE = Finding(
    Kind.OUT_OF_BOUNDS_WRITE, "writes past the end", "conv_kernel", 12, 7, ITEM, Access("out", 16, offset=1024, extent=(1024,)), 3
)
NOTE = Finding(
    Kind.CLAMPED_READ, "edge texels", "conv_kernel", 9, 3, access=Access("data", 16, coordinate=(-1, 0, 0), extent=(8, 8, 1))
)
STORE = {"order": 0, "kernel": "conv_kernel", "line": 4, "column": 5, "value": math.inf, "global_id": (5, 1, 0)}
STORE |= {"local_id": (1, 1, 0), "source": "out[i] = x;"}
WRONG = Finding(
    Kind.WRONG_VALUE, "differs", "conv_kernel", 4, 5, tensor="lv3", detail={"stores": [STORE] * 10, "max_abs": math.nan}
)


def make(findings=(), **changes):
    report = Report("net", "qcom/adreno-opencl", "fixed", ("texture-store",), "Adreno 740", "bounds", 7, "0.27.0", 1, **changes)
    report.findings = list(findings)
    report.kernels = [KernelReport("conv_kernel", "conv", 2, 0.5, 0.25, compared=2, max_abs=1e-6, max_ulp=3, worst_index=(0, 1))]
    report.outputs = [OutputReport("output", "TVM llvm", True, "", 1e-6, 2, (0, 3), 1.0)]
    report.inputs = [InputReport("data", (1, 3), "float32", "seed 7", 1.0)]
    report.plan = PlanSummary(2, 3, 400, 100, 80, 10, 999)
    report.timings = {"compile": 1.5, "run": 0.5}
    report.unchecked = ["kernel pool: its results say nothing"]
    return report


@pytest.mark.parametrize(
    "findings, stopped, strict, code, word",
    [
        ((), None, False, 0, "ok"),
        ((NOTE,), None, True, 0, "ok"),
        ((Finding(Kind.UNINFORMATIVE, "constant"),), None, False, 0, "ok"),
        ((Finding(Kind.UNINFORMATIVE, "constant"),), None, True, 1, "findings"),
        ((WRITE,), None, False, 1, "findings"),
        ((), 3, False, 3, "unsupported"),
        ((), 2, False, 2, "failed"),
        ((WRITE,), 3, False, 1, "findings"),
    ],
)
def test_findings_outrank_unsupported_which_outranks_ok(findings, stopped, strict, code, word):
    report = make(findings, strict=strict)
    if stopped:
        report.stopped, report.stopped_code = "unsupported: doubles at 3:4", stopped
    assert report.exit_code == code
    assert report.ok is (code == 0)
    assert report.verdict.startswith(f"{word}: 1 of 1 kernels checked")
    assert (report.stopped in report.verdict) if stopped else True


def test_kernel_status_tells_checked_from_unchecked():
    assert KernelReport("k", "f").status == "unchecked"
    assert KernelReport("k", "f", compared=2, vacuous=2).status == "vacuous"
    assert KernelReport("k", "f", compared=2, vacuous=1).status == "ok"
    assert KernelReport("k", "f", compared=2, wrong=1, vacuous=1).status == "wrong"
    assert KernelReport("k", "f", part_of="f").status == "part"


def test_an_ok_that_left_something_out_says_so():
    report = make()
    assert report.verdict.startswith("ok: ")
    report.kernels_in_model = 2
    assert report.verdict.startswith("ok, in part: 1 of 2 kernels checked")
    assert report.exit_code == 0
    report = make()
    report.outputs = [OutputReport("output", "TVM llvm", True, "every element is 0", 0, 0, (), 0.0)]
    assert report.verdict == "ok, in part: 1 of 1 kernels checked, 0 errors, 0 warnings, TVM llvm says nothing"


def test_one_defect_seen_often_is_one_finding():
    found = FindingList()
    found.add([WRITE, NOTE, WRITE])
    found.add([WRITE])
    assert [finding.count for finding in found.as_list()] == [9, 1]
    found.add(
        [Finding(Kind.UNINFORMATIVE, "a", "k"), Finding(Kind.UNINFORMATIVE, "b", "k"), Finding(Kind.UNINFORMATIVE, "b", "k")]
    )
    assert [finding.count for finding in found.as_list()][2:] == [1, 2]


def test_finding_text_names_place_work_item_access_and_stores():
    assert finding_text.lines(WRITE) == [
        "error: out-of-bounds-write: writes past the end (3 times)",
        "  at conv_kernel:12:7",
        "  work-item global (5, 1, 0) local (1, 1, 0) group (1, 0, 0)",
        "  access out at byte 1024 of 1024 bytes, 16 bytes",
        "  help: test the index before the write, or launch no more work-items than there are elements",
    ]
    assert "  access data at (-1, 0, 0) of (8, 8, 1), 16 bytes" in finding_text.lines(NOTE)
    lines = finding_text.lines(WRONG)
    assert "    0: inf by work-item (5, 1, 0), conv_kernel:4:5" in lines
    assert "       | out[i] = x;" in lines
    assert lines[-2] == "    and 2 more"
    assert lines[-1].startswith("  help: ")


@pytest.mark.parametrize("findings", [(), (WRITE, NOTE, WRONG)])
def test_json_fits_its_schema(findings, tmp_path):
    report = make(findings)
    json_io.write_json(tmp_path / "report.json", encode.report_to_json(report))
    data = json.loads((tmp_path / "report.json").read_text())
    validator("report").validate(data)
    for finding in data["findings"]:
        validator("finding").validate(finding)
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]
    assert data["ok"] is (not findings)
    assert data["plan"]["inflation"] == 4.0
    if findings:
        assert data["findings"][2]["detail"]["stores"][0]["value"] == "inf"


def test_schema_refuses_what_is_not_a_report():
    good = encode.report_to_json(make((WRITE,)))
    validate = validator("report").is_valid
    assert validate(good)
    for change in (
        {"schema": "adreno-sim/report/2"},
        {"extra": 1},
        {"exit_code": 7},
        {"plan": {}},
        {"findings": [{"kind": "x"}]},
    ):
        assert not validate({**good, **change})


def test_the_share_of_proven_accesses_is_told_and_what_it_is_a_share_of():
    report = make()
    assert all("in range" not in line for line in lines_of(report))
    report.kernels[0].accesses = AccessReport(4, 4)
    report.kernels.append(KernelReport("pool", "pool", accesses=AccessReport(4, 2)))
    (line,) = [line for line in lines_of(report) if "in range" in line]
    assert line == "bounds: 6 of 8 accesses proven in range; less in pool 50.0%"
    for kernel in report.kernels:
        kernel.accesses.executed = kernel.accesses.executed_proven = 1000
    (line,) = [line for line in lines_of(report) if "in range" in line]
    assert line == "bounds: 2,000 of 2,000 executed accesses proven in range"
    validator("report").validate(encode.report_to_json(report))


def lines_of(report):
    out = io.StringIO()
    text.show(report, out)
    return out.getvalue().splitlines()


def test_unwritable_json_leaves_nothing(tmp_path):
    with pytest.raises(AdrenoSimError, match="cannot write"):
        json_io.write_json(tmp_path / "missing" / "report.json", {})
    (tmp_path / "folder").mkdir()
    with pytest.raises(AdrenoSimError, match="cannot write"):
        json_io.write_json(tmp_path / "folder", {})
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_the_verdict_is_one_line_whatever_a_compiler_said():
    report = make((WRITE,))
    report.stopped = "kernel pool: k.cl:3:7: error: invalid sizes\n  as_float4(v)\n  ^~~~~~"
    assert report.verdict.endswith(", kernel pool: k.cl:3:7: error: invalid sizes")


def test_text_has_table_plan_findings_gaps_and_verdict():
    out = io.StringIO()
    text.show(make((NOTE, WRITE)), out)
    shown = out.getvalue()
    for part in ("conv_kernel", "250.00", "400 bytes as planned", "100 with right sizes (4.00x)", "live lower bound of both 80"):
        assert part in shown
    assert "1 note not shown" in shown
    assert "clamped-read" not in shown
    assert "not checked: kernel pool" in shown
    assert "output agrees with TVM llvm" in shown
    assert shown.rstrip().endswith("findings: 1 of 1 kernels checked, 1 error, 0 warnings, TVM llvm agrees")
    out = io.StringIO()
    text.show(make((NOTE,)), out, notes=True)
    assert "clamped-read" in out.getvalue()


def test_str_of_a_report_is_findings_and_verdict():
    assert str(make((NOTE, WRITE))).splitlines()[0].startswith("error: out-of-bounds-write")
    assert str(make()).splitlines()[-1].startswith("ok: ")


@pytest.mark.parametrize(
    ("access", "said"),
    [
        (Access("b", 4, offset=8, extent=(8,)), "b at byte 8 of 8 bytes, 4 bytes"),
        (Access("y", 16, coordinate=(8, 0), extent=(8, 1)), "y at (8, 0) of (8, 1), 16 bytes"),
        (Access("q", 4, coordinate=(64,), extent=(64,)), "q at (64) of (64), 4 bytes"),  # an image of one dimension
        (Access("q", 4, coordinate=(64,)), "q at (64), 4 bytes"),
        (Access("local", 4), "local"),
    ],
)
def test_an_access_is_told_in_bytes_or_in_texels(access, said):
    assert finding_text.access(access) == said
