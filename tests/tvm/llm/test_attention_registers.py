"""TVM's attention in groups of 512, as MLC ran it on phones: refused on a 650 and a 660, right on a 750."""

import pytest

pytest.importorskip("tvm")
import tvm
from kv_kernels import Sizes, make_case
from validators import validator

from adreno_sim import check_kernel
from adreno_sim.base.installed.extras import is_installed
from adreno_sim.findings import Severity
from adreno_sim.render.report.html import write_html
from adreno_sim.results.encode import report_to_json
from adreno_sim.results.unwatched import LEVEL_BOUNDS

pytestmark = [
    pytest.mark.tvm,
    pytest.mark.skipif(not is_installed("tinymesa"), reason="Mesa's compiler is not installed: the extra isa"),
]


def run(device, threads, **options):
    target = tvm.target.Target({"kind": "opencl", "max_num_threads": threads})
    case = make_case("decode", target, Sizes("float16", 128, 16))
    options |= {"target": "buffer", "device": f"sim:{device}", "keep_going": True}
    report = check_kernel(case.function, case.args, case.expected, **options)
    return [finding for finding in report.findings if finding.severity is Severity.ERROR], report


@pytest.mark.parametrize("device", ["adreno-650", "adreno-660"])
def test_attention_of_512_threads_is_refused(device):
    (refused,), _ = run(device, 512)
    assert refused.kind.label == "limit-exceeded"
    assert refused.detail["code"] == "CL_INVALID_WORK_GROUP_SIZE"
    assert "512 work-items" in refused.message
    assert "registers (by Mesa's compiler) leave room for" in refused.message


@pytest.mark.parametrize(("device", "threads"), [("adreno-750", 512), ("adreno-650", 256)])
def test_where_registers_are_enough_it_is_right(device, threads):
    errors, report = run(device, threads)
    assert errors == []
    assert all(kernel.compared for kernel in report.kernels)
    told = [finding.detail["max_num_threads"] for finding in report.findings if "max_num_threads" in finding.detail]
    assert told == [256] * (threads > 256)
    assert report.machine_code is None, "nobody asked for it"


def test_a_check_has_the_machine_code_of_its_kernels(tmp_path):
    _, report = run("adreno-650", 256, isa=("a650", "a740"))
    assert [code.chip for code in report.machine_code] == ["a650", "a740"]
    assert all(code.rolled.registers > 8 for code in report.machine_code)
    assert report.unchecked == [LEVEL_BOUNDS]
    validator("report").validate(report_to_json(report))
    write_html(tmp_path / "report.html", report)
    assert "Machine code" in (tmp_path / "report.html").read_text()
