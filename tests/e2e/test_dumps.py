"""`adreno-sim kernel --dump` and `--explain` of `kernel` and `check`: what is shown of the inside of a launch, and where."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from llvmlite import binding

from adreno_sim.cli.main import main

pytestmark = pytest.mark.e2e

SOURCE = """kernel void k(global float *y, global const float *x, global const int *index, float limit) {
  int i = get_global_id(0), l = get_local_id(0);
  GUARD
  y[WHERE] = 2 * x[i];
}
"""
LAUNCH = """source = "k.cl"
global_size = [16]
local_size = [8]
[[argument]]
kind = "buffer"
dtype = "float32"
count = 16
[[argument]]
kind = "buffer"
dtype = "float32"
count = 16
data = "arange"
[[argument]]
kind = "buffer"
dtype = "int32"
count = 16
data = "arange"
[[argument]]
kind = "scalar"
value = 3.0
"""
PLANTED = {  # a proof that was lost: guard, index; what its line names as missing; the guard and index of the proven twin
    "guard on another variable": (
        "if (l > 6) return;", "i + 2", "it runs if lid(0) <= 6; missing: a condition on group(0)", "if (i > 13) return;", "i + 2",
    ),
    "bound of an argument that is not known": (
        "if (i > (int)limit) return;", "i + 2", "missing: no upper bound of %conv3 is known: 3:11 makes it from a float",
        "if (i > min((int)limit, 13)) return;", "i + 2",
    ),
    "index that is not affine": (
        "", "i * i - i * (i - 1)", "missing: of %mul3 only the range 0..225 is known", "", "i * 3 - i * 2",
    ),
    "loaded index": (
        "", "index[i]", "missing: nothing is known about index[gid(0)]: 4:5 takes it from index", "", "index[i] & 15",
    ),
}  # fmt: skip


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder with the launch file, the current one."""
    monkeypatch.chdir(tmp_path)
    Path("launch.toml").write_text(LAUNCH)
    write("", "i")
    return tmp_path


def write(guard: str, where: str) -> None:
    Path("k.cl").write_text(SOURCE.replace("GUARD", guard).replace("WHERE", where))


def run(capsys, *args):
    code = main(["kernel", "--launch", "launch.toml", *map(str, args)])
    return code, *capsys.readouterr()


@pytest.mark.share(3)
@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_loss_is_named_and_its_twin_is_proven(folder, capsys, name):
    guard, where, missing, *twin = PLANTED[name]
    write(guard, where)
    _, out, _ = run(capsys, "--dump", "proofs")
    (line,) = [line for line in out.splitlines() if "NOT PROVEN" in line and not line.startswith("y: ")]
    assert line.startswith("4:"), line
    assert "store   y" in line, line
    assert missing in line, line
    write(*twin)
    code, out, _ = run(capsys, "--dump", "proofs")
    assert code == 0
    assert "NOT PROVEN" not in out.partition("\ny: ")[0]
    head, columns, *_ = out.splitlines()
    assert head.startswith("; proofs of kernel k: ")
    assert columns.split() == ["place", "access", "of", "index", "in", "range"]


def test_a_dump_is_alone_on_standard_output(folder, capsys):
    code, out, err = run(capsys, "--dump", "ir")
    assert code == 0
    assert out.startswith("kernel void @k(ptr addrspace(1) %y, ")
    assert out.endswith("}\n")
    assert err.splitlines()[-1].startswith("ok: 0 errors")
    code, out, err = run(capsys, "--dump", "llvm", "--dump", "ir", "--dump", "proofs", "--annotations")
    starts = [out.index(text) for text in ("kernel void @k", "; proofs of kernel k: 2 of 2", "; code 1 of 1: vectors of 8")]
    assert code == 0
    assert starts == sorted(starts)


def test_without_it_nothing_changes(folder, capsys):
    plain, _ = run(capsys, "--json", "plain.json"), run(capsys, "--json", "dumped.json", "--dump", "proofs", "--explain")
    assert plain[0] == 0
    assert "proofs" not in plain[1]
    assert plain[2] == ""
    reports = [json.loads(Path(name).read_text()) for name in ("plain.json", "dumped.json")]
    for report in reports:
        report.pop("seconds")
    assert reports[0] == reports[1]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--checks", "bounds"), "vectors of 8 work-items, work-groups of 8 x 1 x 1, checks bounds, a failed check sets a flag"),
        (("--device", "sim:adreno-740,emitter=scalar"), "one work-item at a time (asked for), "),
        (("--checks", "off"), "no checks"),
    ],
)
def test_llvm_text_is_what_ran_and_parses(folder, capsys, options, said):
    code, out, _ = run(capsys, "--dump", "llvm", *options)
    assert code == 0
    assert out.startswith("; code 1 of 1: ")
    assert said in out.partition("\n")[0]
    module = binding.parse_assembly(out)
    assert "worker" in [function.name for function in module.functions if not function.is_declaration]


def test_a_launch_that_ran_again_shows_both(folder, capsys):
    write("", "i + 1")
    code, out, err = run(capsys, "--dump", "llvm", "--checks", "bounds")
    heads = [line for line in out.splitlines() if line.startswith("; code ")]
    assert code == 1
    assert "out-of-bounds-write" in err
    assert len(heads) == 2
    assert "a failed check sets a flag" in heads[0]
    assert heads[1].startswith("; code 2 of 2, because a check failed in the code before: ")
    assert "a failed check reports" in heads[1]


def test_a_refused_launch_has_shown_its_ir(folder, capsys):
    Path("launch.toml").write_text(LAUNCH.replace("[8]", "[4096]"))
    code, out, err = run(capsys, "--dump", "ir", "--dump", "llvm")
    assert code == 1
    assert "kernel void @k(" in out
    assert out.endswith("; no code ran\n")
    assert "CL_INVALID_WORK" in err


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--dump", "ir", "--json", "-"), "--dump: both it and --json - write to standard output; expected a file after --json"),
        (("--dump", "asm"), "invalid choice: 'asm'"),
    ],
)
def test_what_is_refused(folder, capsys, args, said):
    try:
        code = main(["kernel", "--launch", "launch.toml", *args])
    except SystemExit as ended:
        code = ended.code
    out, err = capsys.readouterr()
    assert code == 2
    assert said in err
    assert "Traceback" not in err
    assert not out or json.loads(out)["schema"].startswith("adreno-sim/failure/")


@pytest.mark.device
def test_a_real_device_does_not_show_its_inside(folder, intel):
    """In a process of its own: in one OpenCL's loader is set up once."""
    words = ["kernel", "--launch", "launch.toml", "--dump", "ir", "--device", "cl:intel"]
    program = "import sys; from adreno_sim.cli.main import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: --dump: ")
    assert "is a real device" in done.stderr


def test_explain_names_what_is_not_proven(folder, capsys):
    write("", "index[i]")
    code, out, _ = run(capsys, "--explain")
    lines = out.splitlines()
    assert code == 0
    assert lines[0].startswith("k.cl:4:15: not proven in range: store of y: 0 <= index[gid(0)] <= 15 is not shown")
    assert lines[1] == "  | y[index[i]] = 2 * x[i];"
    write("", "index[i] & 15")
    assert "not proven" not in run(capsys, "--explain")[1]
    write("", "index[i]")
    assert "not proven" not in run(capsys)[1]
    assert "not proven" not in run(capsys, "--explain", "--checks", "off")[1]


def model(mode: str) -> Path:
    """A network of one operator: a table lookup, whose index is loaded, or an addition, whose index is not."""
    onnx = pytest.importorskip("onnx")
    helper = onnx.helper
    table = onnx.numpy_helper.from_array(np.arange(32, dtype=np.float32).reshape(4, 8), "table")
    ids = helper.make_tensor_value_info("ids", onnx.TensorProto.INT64 if mode == "Gather" else onnx.TensorProto.FLOAT, [4, 8])
    out = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)
    graph = helper.make_graph([helper.make_node(mode, ["table", "ids"], ["y"])], "g", [ids], [out], [table])
    path = Path(f"{mode}.onnx")
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), str(path))
    return path


@pytest.mark.tvm
def test_check_explains_by_kernel(folder, capsys):
    pytest.importorskip("tvm")
    for mode, explain, wanted in (("Gather", True, True), ("Gather", False, False), ("Add", True, False)):
        code = main(["check", str(model(mode)), "--json", f"{mode}{explain}.json", *(["--explain"] if explain else [])])
        out, _ = capsys.readouterr()
        found = [line for line in out.splitlines() if "not proven in range: " in line]
        assert code == 0, out
        assert bool(found) == wanted, out
        assert all(line.startswith("take_kernel:") and "missing: nothing is known about " in line for line in found)
    reports = [json.loads(Path(f"Gather{explain}.json").read_text()) for explain in (True, False)]
    assert reports[0].keys() == reports[1].keys()
    assert reports[0]["kernels"][0].keys() == reports[1]["kernels"][0].keys()


@pytest.mark.tvm
def test_check_explains_findings_under_their_lines(folder, capsys, small_onnx):
    from adreno_sim.compiler.tvm_bridge.versions import tvm_series

    if tvm_series() == "0.25":
        pytest.skip("this TVM stores textures right")
    code = main(["check", str(small_onnx), "--without-fix", "texture-store", "--explain"])
    out, _ = capsys.readouterr()
    assert code == 1
    assert ".cl:" in out
    assert ": error: " in out
    assert " | " in out
    assert "^" in out
