"""Each reading has a kernel that depends on it, and a clean twin that does not, under all readings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest

import adreno_sim
from adreno_sim.backends.simulated import require_variable
from adreno_sim.base.errors import OptionError
from adreno_sim.findings import Kind, Severity
from adreno_sim.launch_spec.read import read_launch
from adreno_sim.launch_spec.run import run_launch
from adreno_sim.readings import device_values
from adreno_sim.readings.table import READINGS, markdown
from adreno_sim.results.launch_report import LaunchReport

# ruff: noqa: E501 (a case reads better unbroken)

OUT = '[[argument]]\nkind="buffer"\ndtype="{}"\ncount=256\n'
IN = '[[argument]]\nkind="buffer"\ndtype="float32"\ncount=256\ndata={}\n'
RANDOM = '{fill="random", seed=1}'
I = "int i = get_global_id(0);"  # noqa: E741

PARTS = """__local float part[16]; float s = sub_group_reduce_add(a[i]);
if (get_sub_group_local_id() == 0) part[get_sub_group_id()] = s;
barrier(CLK_LOCAL_MEM_FENCE); float t = 0.0f;
for (uint n = 0; n < get_num_sub_groups(); n++) t += part[n];
o[i] = t;"""

LINEAR = """__constant sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_LINEAR;
__kernel void k(read_only image2d_t p, __global float *o) {{ int i = get_global_id(0); o[i] = read_imagef(p, s, (float2)(i * {} + 0.5f, 0.5f)).x; }}"""
IMAGE = '[[argument]]\nkind="image2d"\nwidth=300\nheight=1\norder="R"\nchannel_type="FLOAT"\ndata={fill="random", seed=2}\n'

SHARED = """__kernel void k(__global float *b, read_only image2d_t p, __global float *o) {{
int i = get_global_id(0); o[i] = read_imagef(p, (int2)(i % 8, {})).x; }}"""
OVER_BUFFER = """[storage.s]
nbytes=65536
[[argument]]
kind="buffer"
dtype="float32"
count=4096
storage="s"
data={fill="random", seed=3}
[[argument]]
kind="image2d"
width=8
height=2
order="R"
channel_type="FLOAT"
storage="s"
"""


@dataclass(frozen=True)
class Case:
    """body and clean: the kernels `k(o, a)` of a defect and of its twin, or whole sources. given: the arguments, as the launch
    file has them; top: what else is in it; clean_given: where the twin has other arguments."""

    body: str
    clean: str
    out: str = "float32"
    data: str = RANDOM
    clean_data: str = ""
    given: str = ""
    top: str = "local_size=[128]"
    options: str = ""
    device: str = "sim:adreno-740"


CASES = {
    "wave-size": Case("o[i] = sub_group_reduce_add(a[i]);", PARTS, options="-cl-std=CL3.0"),
    "group-size": Case(
        "o[i] = get_local_id(0);", "o[i] = get_group_id(0) * get_local_size(0) + get_local_id(0);", out="int32", top=""
    ),
    "order": Case(
        "o[i] = atomic_inc((__global int *)a);",
        "atomic_add(o, (int)(a[i] * 64.0f));",
        out="int32",
        data='{fill="zeros"}',
        clean_data=RANDOM,
    ),
    "contraction": Case(
        "float p = a[i] * a[i]; o[i] = a[i] * a[i] - p == 0.0f;", "o[i] = a[i] * a[i] + a[i] > -1.0f;", out="int32"
    ),
    "finite-math": Case(
        "o[i] = isnan(a[i]) ? 0.0f : a[i];",
        "o[i] = isnan(a[i]) ? 0.0f : a[i];",
        data='{fill="constant", value=nan}',
        clean_data=RANDOM,
        options="-cl-fast-relaxed-math",
    ),
    "denormals": Case(
        "o[i] = a[i] * 1e-39f != 0.0f;", "o[i] = a[i] * 1e-39f < 1.0f;", out="int32", data='{fill="constant", value=1.0}'
    ),
    "filter-bits": Case(LINEAR.format("1.001f"), LINEAR.format("1.0f"), given=IMAGE + OUT.format("float32")),
    "pitch-rule": Case(SHARED.format(1), SHARED.format(0), given=OVER_BUFFER + OUT.format("float32")),
    "version": Case("o[i] = __OPENCL_VERSION__ >= 300;", "o[i] = __OPENCL_VERSION__ >= 120;", out="int32"),
}
"""By reading. Memory has a test of its own: there is nothing for a kernel to see."""


def run(folder: Path, case: Case, is_clean: bool, every: bool = True, checks: str = "bounds") -> LaunchReport:
    body = case.clean if is_clean else case.body
    data = case.clean_data if is_clean and case.clean_data else case.data
    source = (
        body if "__kernel" in body else f"__kernel void k(__global {_TYPES[case.out]} *o, __global float *a) {{ {I} {body} }}"
    )
    (folder / "k.cl").write_text(source)
    head = f'source="k.cl"\noptions="{case.options}"\nglobal_size=[256]\n{case.top}\n'
    (folder / "k.toml").write_text(head + (case.given or OUT.format(case.out) + IN.format(data)))
    return run_launch(read_launch(folder / "k.toml"), device=case.device, every_reading=every, checks=checks)


_TYPES = {"float32": "float", "int32": "int"}


def found(report: LaunchReport) -> set[object]:
    assert not [one for one in report.findings if one.severity is Severity.ERROR]
    return {one.detail["reading"] for one in report.findings if one.kind is Kind.DEPENDS_ON_READING}


@pytest.mark.share()
@pytest.mark.parametrize("name", CASES)
def test_what_depends_on_a_reading_is_found(name: str, tmp_path: Path) -> None:
    report = run(tmp_path, CASES[name], is_clean=False)
    assert found(report) == {name}
    (finding,) = (one for one in report.findings if one.kind is Kind.DEPENDS_ON_READING)
    assert finding.severity is Severity.WARNING
    assert finding.line > 0
    assert len(set(finding.detail["values"])) == 2
    assert finding.detail["present"] != finding.detail["choice"]


@pytest.mark.share()
@pytest.mark.parametrize("name", CASES)
def test_the_clean_twin_depends_on_none(name: str, tmp_path: Path) -> None:
    report = run(tmp_path, CASES[name], is_clean=True)
    assert found(report) == set()
    assert report.readings is not None
    assert name in {one.reading for one in report.readings.tried}  # it could have mattered


def test_every_reading_is_tried_or_left_out_with_a_reason(tmp_path: Path) -> None:
    report = run(tmp_path, Case("o[i] = a[i] * a[i];", ""), is_clean=False)
    assert report.readings is not None
    tried, left_out = ({one.reading for one in part} for part in (report.readings.tried, report.readings.left_out))
    assert tried == {"denormals"}
    assert tried | left_out == {reading.name for reading in READINGS}
    assert next(one.reason for one in report.readings.left_out if one.reading == "contraction") == "no multiply feeds an add"


def test_level_full_tries_the_wave_size_by_itself(tmp_path: Path) -> None:
    case = CASES["wave-size"]
    for is_clean, expected in ((False, {"wave-size"}), (True, set())):
        report = run(tmp_path, case, is_clean, every=False, checks="full")
        assert found(report) == expected
        assert report.readings is not None
        assert {one.reading for one in report.readings.tried} == {"wave-size"}
    asks = '__kernel __attribute__((qcom_reqd_sub_group_size("half"))) void k(__global float *o, __global float *a) { '
    required = Case(f"{asks}{I} o[i] = sub_group_reduce_add(a[i]); }}", "", options="-cl-std=CL3.0")
    assert run(tmp_path, required, is_clean=False, every=False, checks="full").readings is None


@pytest.mark.representative
def test_what_only_rounding_moves_is_no_finding(tmp_path: Path) -> None:
    """A small difference of large numbers is all rounding, but one number follows the other; the error of a product itself is
    there only where the product is not rounded."""
    constant = '{fill="constant", value=1.1}'
    difference = Case("o[i] = a[i] * a[i] - 1.21f;", "", data=constant)
    report = run(tmp_path, difference, is_clean=False)
    assert found(report) == set()
    assert report.readings is not None
    assert report.readings.launches > 4
    error = Case("float p = a[i] * a[i]; o[i] = a[i] * a[i] - p;", "", data=constant)
    assert found(run(tmp_path, error, is_clean=False)) == {"contraction"}


def test_a_smaller_phone_refuses_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if a phone had next to none: of a real one the buffer would be 256 MiB."""
    case = Case("o[i] = 1;", "", out="int32", device="sim:galaxy-s23")
    report = run(tmp_path, case, is_clean=False)
    assert found(report) == set()
    assert report.readings is not None
    (reason,) = (one.reason for one in report.readings.left_out if one.reading == "memory")
    assert "fit into the smallest phone" in reason
    smallest = {"MAX_MEM_ALLOC_SIZE": 512}
    monkeypatch.setattr(device_values, "_find_smallest", lambda subject: smallest)
    assert found(run(tmp_path, case, is_clean=False)) == {"memory"}


def test_what_is_undefined_in_any_case_is_no_reading(tmp_path: Path) -> None:
    body = "__local float l[128]; l[127 - get_local_id(0)] = sub_group_reduce_add(a[i]); o[i] = l[get_local_id(0)];"
    report = run(tmp_path, Case(body, "", options="-cl-std=CL3.0"), is_clean=False)
    assert found(report) <= {"order"}
    assert report.readings is not None
    (reason,) = (one.reason for one in report.readings.left_out if one.reading == "wave-size")
    assert "data-race" in reason or "uninitialized-read" in reason


def test_a_real_device_has_made_its_choices() -> None:
    with pytest.raises(OptionError, match="adreno-740 is a real device"):
        require_variable(SimpleNamespace(info=adreno_sim.open_device("sim:adreno-740").info))  # type: ignore[arg-type]


def test_the_page_shows_the_table() -> None:
    page = Path(__file__).parents[3] / "docs" / "readings.md"
    assert markdown() in page.read_text(encoding="utf-8"), "run: python -m adreno_sim.readings.table"
