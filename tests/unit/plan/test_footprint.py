"""`adreno-sim footprint` without TVM: tables, files against their schemas, limits, comparisons, bad input."""

import json
import re

import handmade
import pytest
from plan_figures import FOLDER
from validators import validator

from adreno_sim.base.errors import AdrenoSimError
from adreno_sim.base.specs import TensorSpec
from adreno_sim.cli.main import main
from adreno_sim.compiler.plan import trace as trace_file
from adreno_sim.compiler.plan.extract import extract_bounded, extract_plan
from adreno_sim.compiler.plan.plan_file import plan_from_json, plan_to_json, read_plan, write_plan
from adreno_sim.compiler.plan.problem import Item, Problem
from adreno_sim.compiler.plan.rules import DeviceRules
from adreno_sim.profiles.profile import load

TRACE = "id,lower,upper,size\na,0,3,64\nb,0,2,32\nc,2,4,32\nd,3,5,64\n"
"""a and b, then a and c, then c and d: never more than 96 bytes; in storages of their own 192."""


@pytest.fixture
def run(capsys):
    def command(*args):
        code = main(["footprint", *map(str, args)])
        out, err = capsys.readouterr()
        return code, out, err

    return command


@pytest.fixture
def trace(tmp_path):
    path = tmp_path / "trace.csv"
    path.write_text(TRACE)
    return path


@pytest.fixture
def bundle(tmp_path):
    path = tmp_path / "model.asim"
    handmade.texture().save(path)
    return path


def figures(data):
    return {row["planner"]: (row["total"], row["storages"]) for row in data["planners"]}


def test_a_trace(run, trace, tmp_path):
    code, out, err = run(trace, "--planners", "naive,arena", "--json", tmp_path / "out.json")
    assert code == 0
    assert err == ""
    assert "4 tensors to place" in out
    assert "live lower bound 96 bytes" in out
    data = json.loads((tmp_path / "out.json").read_text())
    validator("footprint").validate(data)
    assert figures(data) == {"naive": (192, 4), "arena": (96, 1)}
    assert data["lower_bound"] == 96
    assert data["plan"] is None


def test_a_bundle_and_what_is_outside_its_plan(run, bundle, tmp_path):
    code, out, _ = run(bundle, "--planners", "tvm,tvm-fixed", "--json", tmp_path / "out.json", "--plan-json", tmp_path / "p.json")
    assert code == 0
    data = json.loads((tmp_path / "out.json").read_text())
    validator("footprint").validate(data)
    # textures of 3 x 2 rows of 80 bytes, padded to 128; TVM's planner multiplies by four once more. Left to the runtime, never
    # all at one time: a copy of 768, t2, which goes to another scope, and the copy of 480 that is the result
    assert figures(data) == {"as compiled": (2816, 4), "tvm": (2 * 3072 + 1248, 5), "tvm-fixed": (2 * 768 + 1248, 5)}
    found = [(row["planned"], row["unplanned"], row["causes"]["inflation"]) for row in data["planners"]]
    assert found == [(2048, 768, 512), (6144, 1248, 2 * 3 * 768), (1536, 1248, 0)]
    assert "unplanned 768" in out
    assert "inputs 480, outputs 480" in out
    assert data["lower_bound"] == 1536
    assert [life["left_alone"] for life in data["lives"]][1:4] == [
        "",
        "",
        "copied to another scope",
    ]
    plan = json.loads((tmp_path / "p.json").read_text())
    validator("plan").validate(plan)
    assert plan["summary"]["planned"] == 1536
    assert plan["summary"]["unplanned"] == 1248
    again, out, _ = run(tmp_path / "out.json", "--planners", "tvm-fixed")  # a footprint serves as source too
    assert again == 0
    assert "2,816" in out


@pytest.mark.parametrize(("rule", "total", "code"), [("bytes", 2784, 0), ("pixels", 2784, 1), ("hardware", 24 * 1024 + 480, 0)])
def test_pitch_rules(run, bundle, tmp_path, rule, total, code):
    """Rows are those that TVM's runtime passes, under every rule: a device that counts in texels refuses them."""
    found, out, _ = run(bundle, "--planners", "tvm-fixed", "--pitch-rule", rule, "--json", "-", "--device", "adreno-740")
    data = json.loads(out)
    assert found == code
    assert figures(data)["tvm-fixed"] == (total, 5)
    notes = [row["note"] for row in data["planners"]]
    refusal = "adreno-740 refuses the images of 4 textures, row pitch 128: expected a multiple of 1,024 bytes, 64 texels"
    assert notes == ([refusal] * 2 if rule == "pixels" else notes)
    assert all((refusal in note) == bool(code) for note in notes)


def test_what_is_wrong_with_the_plan_as_compiled(run, bundle, tmp_path):
    _, out, _ = run(bundle, "--pitch-rule", "pixels", "--json", tmp_path / "out.json")
    assert "error: as compiled: wrong-argument: xt" in out
    assert "refuses the image that TVM's runtime makes" in out
    data = json.loads((tmp_path / "out.json").read_text())
    validator("footprint").validate(data)
    assert [(finding["tensor"], finding["count"]) for finding in data["findings"]] == [("xt", 4)]
    assert "warning: as compiled: no-image-from-buffer: 4 textures" in run(bundle, "--device", "adreno-650")[1]


def test_plans_that_a_device_cannot_hold(run, bundle):
    code, out, _ = run(bundle, "--device", "sim:adreno-740,MAX_MEM_ALLOC_SIZE=700", "--planners", "naive")
    assert code == 1
    assert "naive: a storage of 768 bytes is above the largest allocation, 700" in out
    assert "failed: no planner gave a valid plan that fits the device" in out
    network = FOLDER / "squeezenet.json"
    assert run(network, "--planners", "arena")[0] == 0
    code, out, _ = run(network, "--planners", "arena", "--device", "adreno-650")
    assert code == 1
    assert "textures at offsets take images over buffers, which adreno-650 has not" in out
    assert (
        run(network, "--planners", "arena,tvm-fixed", "--device", "adreno-650", "--budget", "10MB", "--plan", "tvm-fixed")[0] == 0
    ), "all that is on the device at the peak, not the storages alone"


def test_the_budget_is_of_the_plan_that_runs(run, tmp_path):
    network = FOLDER / "squeezenet.json"
    code, out, _ = run(network, "--planners", "arena", "--budget", "7MB")
    assert code == 1
    assert "failed: as compiled: 16,891,904 bytes at the peak, above the budget of 7,000,000 (arena takes 4,743,168; " in out
    assert "; --plan arena runs" in out
    assert run(network, "--planners", "arena", "--budget", "17MB")[0] == 0
    assert run(network, "--planners", "tvm", "--plan", "arena", "--budget", "5MB")[0] == 0  # one that is not compared is
    assert run(network, "--planners", "arena", "--plan", "tvm-fixed", "--max-ratio", "1.1")[0] == 1
    assert run(network, "--planners", "arena", "--max-ratio", "1.1")[0] == 0
    run(network, "--planners", "arena", "--plan-json", tmp_path / "arena.json")
    assert run(network, "--plan", tmp_path / "arena.json", "--budget", "5MB")[0] == 0
    assert run(network, "--plan", tmp_path / "arena.json", "--budget", "4.5MB")[0] == 1
    assert "planner 'aren' does not exist" in run(network, "--plan", "aren")[2]
    code, out, _ = run(network, "--planners", "tvm-fixed", "--device", "adreno-650", "--plan", "arena", "--budget", "4MB")
    assert code == 1
    assert "failed: arena: no valid plan that fits the device: " in out


@pytest.mark.parametrize(
    ("limits", "code", "said"),
    [
        (("--planners", "arena", "--budget", "96"), 0, ""),
        (("--planners", "arena", "--budget", "95B"), 1, "arena: 96 bytes, above the budget of 95"),
        (("--max-ratio", "1.0"), 0, ""),
        (("--max-ratio", "1.5", "--planners", "naive"), 1, "naive: 2.000 times the lower bound, above 1.5"),
    ],
)
def test_limits(run, trace, limits, code, said):
    got, out, _ = run(trace, *limits)
    assert got == code
    assert f"failed: {said}" in out if said else "failed" not in out


def test_what_made_the_difference(run, trace, tmp_path):
    run(trace, "--planners", "arena", "--json", tmp_path / "old.json")
    new = tmp_path / "new.csv"
    new.write_text(TRACE.replace("c,2,4,32", "c,2,4,128"))
    code, out, _ = run(new, "--planners", "arena", "--compare", tmp_path / "old.json")
    assert code == 0
    assert "arena: 96 -> 192 (+96)" in out
    assert "live lower bound: +96" in out
    assert "+128 bytes: +1 x c (128 bytes)" in out
    assert "-32 bytes: -1 x b (32 bytes)" in out
    code, out, _ = run(trace, "--planners", "arena", "--compare", tmp_path / "old.json")
    assert "live at the peak: no change" in out
    assert "tensors: no change" in out


def test_an_older_footprint_of_another_device_or_target_is_said_to_be_so(run, bundle, tmp_path):
    old, table = tmp_path / "old.json", tmp_path / "table.md"
    run(bundle, "--planners", "arena", "--device", "adreno-740", "--json", old)
    again = (bundle, "--planners", "arena", "--compare", old, "--markdown", table)
    assert "made for another" not in run(*again, "--device", "adreno-740")[1] + table.read_text()
    assert "  it was made for another rule of sizes: adreno-740, " in run(*again, "--device", "adreno-640")[1]
    assert "was made for another rule of sizes: adreno-740, " in table.read_text()
    data = json.loads(old.read_text())
    old.write_text(json.dumps(data | {"target": "opencl -device=mali"}))
    assert f"another target: opencl -device=mali; now {data['target']}" in run(*again, "--device", "adreno-740")[1]


def test_symbolic_sizes_have_bounds(run, tmp_path):
    plan = extract_bounded(handmade.symbolic(), {"n": (2, 10)})
    assert [s.planned_bytes for s in plan.storages] == [160, 160]
    assert plan.least is not None
    assert plan.least.unplanned == 64
    assert plan.summary.unplanned == 320
    assert [(s.name, s.low, s.high) for s in plan.symbols] == [("n", 2, 10)]
    path = tmp_path / "model.asim"
    handmade.symbolic().save(path)
    assert run(path, "--bound", "n=2:10")[0] == 0
    assert run(path)[2] == "error: no bounds for symbolic dimension 'n'; the model's symbols are n\n"
    assert run(path, "--bound", "m=1:2", "--bound", "n=1:2")[2].startswith("error: bounds for 'm': the model's symbols are n")
    assert "expected 1 <= low <= high" in run(path, "--bound", "n=3:2")[2]
    assert "expected 1 <= low <= high < 2^31" in run(path, "--bound", "n=1:99999999999999999999")[2]
    for shape in ("x=0x4", "x=99999999999999999999x4", "x=²x4"):
        assert "expected NAME=DxDx" in run(path, "--shape", shape)[2]


def test_plans_survive_files(tmp_path):
    for model in (handmade.texture(), handmade.branch()):
        plan = extract_plan(model)
        write_plan(tmp_path / "plan.json", plan)
        validator("plan").validate(json.loads((tmp_path / "plan.json").read_text()))
        assert read_plan(tmp_path / "plan.json") == plan
    kinds = [(t.name, t.kind, t.nbytes) for t in extract_plan(handmade.branch()).fixed]
    assert kinds == [("c", "input", 1), ("x", "input", 32), ("k", "constant", 32), ("output", "output", 32)]


def changed(**values):
    data = plan_to_json(extract_plan(handmade.texture()))
    data["tensors"][1] |= values
    return data


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (changed(right_bytes=-1), "tensor 't0': size -1: expected 0 to 2"),
        (changed(right_bytes=2**63), f"tensor 't0': size {2**63}: expected 0 to 2"),
        (changed(last=0), "tensor 't0': lifetime 2 to 0: expected an end after the start"),
        (changed(id="xt"), "tensor 'xt' has two lifetimes"),
        (changed(storage="nowhere"), "tensor 't0': storage 'nowhere' does not exist"),
        (changed(shape="no"), r"not a plan: \$.tensors\[1\].shape: expected a list"),
        (changed(colour=1), "not a plan: .*PlannedTensor has no field 'colour'"),
        ({"schema": "adreno-sim/plan/9"}, "expected schema 'adreno-sim/plan/1', found 'adreno-sim/plan/9'"),
    ],
)
def test_bad_plans(data, said):
    with pytest.raises(AdrenoSimError, match=f"^plan.json: {said}"):
        plan_from_json(data, "plan.json")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("id,lower,upper,size\na,0,3,64\na,1,2,8\n", "two overlapping lifetimes"),
        ("id,lower,upper,size\na,3,3,64\n", "expected an end after the start"),
        ("id,lower,upper,size\na,0,3,0\n", "size 0"),
        ("id,lower,upper,size\na,0,3,-5\n", "size -5"),
        (f"id,lower,upper,size\na,0,3,{2**63}\n", f"size {2**63}"),
        ("id,lower,upper,size\na,0,3\n", "3 values: expected 4"),
    ],
)
def test_bad_traces(run, tmp_path, text, said):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    code, out, err = run(path)
    assert code == 2
    assert out == ""
    assert said in err
    assert err.startswith("error: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--planners", "areana"), "planner 'areana' does not exist (did you mean arena"),
        (("--planners", ","), "no planner named"),
        (("--draw", "tvm", "--planners", "arena"), "--draw tvm: expected one of the planners compared: arena"),
        (("--device", "adreno-9"), "device profile 'adreno-9' does not exist"),
        (("--budget", "64XB"), "expected a size, as 64MB"),
        (("--max-ratio", "0.5"), "expected a number of 1 or more"),
        (("--compare", "missing.json"), "cannot read missing.json"),
        (("--bound", "n=1:2"), "whose tensors are known"),
        (("--svg", "a.x", "--html", "a.x"), "the same file as"),
        (("--json", "no/such/folder/x.json"), "cannot write"),
    ],
)
def test_bad_usage(run, trace, args, said):
    code, out, err = run(trace, *args)
    assert code == 2
    assert out == ""
    assert said in err
    assert err.startswith("error: ")
    assert err.count("\n") == 1


def test_the_schema_of_traces(run, tmp_path):
    """What is written fits it and is a source; what it forbids is refused when read."""
    items = (Item("a", 64, 0, 3), Item("t", 768, 1, 4, "global.texture", "float32", (2, 3, 5, 4), 480, 128))
    path = tmp_path / "trace.json"
    trace_file.write(path, Problem(items, "net"))
    data = json.loads(path.read_text())
    validator("trace").validate(data)
    assert run(path, "--planners", "all")[0] == 0
    for key, value in (("size", 0), ("size", 2**63), ("alignment", 0), ("shape", [-1]), ("start", "0"), ("colour", 1)):
        wrong = {**data, "items": [{**data["items"][0], key: value}]}
        assert not validator("trace").is_valid(wrong)
        path.write_text(json.dumps(wrong))
        code, out, err = run(path)
        assert code == 2
        assert out == ""
        assert err.startswith(f"error: trace {path}")
        assert err.count("\n") == 1


@pytest.mark.parametrize("suffix", ["csv", "json", "asim"])
@pytest.mark.parametrize("content", [b"", bytes(range(256)) * 8, b"PK\x03\x04"])
def test_files_that_are_nothing(run, tmp_path, suffix, content):
    path, out = tmp_path / f"x.{suffix}", tmp_path / "out.json"
    path.write_bytes(content)
    code, said, err = run(path, "--json", out, "--html", tmp_path / "out.html")
    assert code == 2
    assert said == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert path.name in err
    assert sorted(file.name for file in tmp_path.iterdir()) == ["out.html", "out.json", path.name]
    assert json.loads(out.read_text())["schema"] == "adreno-sim/failure/1"


def test_json_of_another_kind(run, tmp_path):
    path = tmp_path / "x.json"
    for text, said in (("[]", "expected a JSON object"), ("{", "not valid JSON"), ('{"schema": "other"}', "schema 'other'")):
        path.write_text(text)
        code, _, err = run(path)
        assert code == 2
        assert said in err
        assert err.count("\n") == 1


def test_rules_of_devices():
    texture = TensorSpec((2, 3, 5, 4), "float32", "global.texture")
    plain = TensorSpec((7,), "float32")
    by_bytes = DeviceRules.of_profile(load("adreno-740"))
    by_pixels = DeviceRules.of_profile(load("adreno-740"), "pixels")
    without = DeviceRules.of_profile(load("adreno-630,driver=mesa"))
    assert (by_bytes.size(texture), by_bytes.alignment(texture), by_bytes.alignment(plain)) == (768, 128, 128)
    assert (by_pixels.size(texture), by_pixels.alignment(texture)) == (768, 1024)
    assert "row pitch 128: expected a multiple of 1,024" in by_pixels.refused_pitch(texture)
    assert not by_bytes.refused_pitch(texture)
    assert (without.size(texture), without.view_size(texture), without.image_views) == (768, 480, False)
    wide = TensorSpec((1, 1, 20000, 4), "float32", "global.texture")
    assert by_bytes.over_limit(wide) == "width 20000: IMAGE2D_MAX_WIDTH is 16384"
    assert by_bytes.over_limit(texture) == ""


def test_the_help_names_every_planner(capsys):
    from adreno_sim.compiler.plan import planners

    assert main(["footprint", "--help"]) == 0
    listed = capsys.readouterr().out.partition("planners: ")[2].partition("exit code")[0]
    assert set(re.findall(r"[a-z0-9]+(?:-[a-z0-9]+)*", listed.replace("adreno-sim[solver]", ""))) >= set(planners.names())
