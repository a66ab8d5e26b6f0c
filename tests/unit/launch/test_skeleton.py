"""Launch files that `init` guesses: what it reads from a kernel's code, and that what it writes runs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from validators import validator

from adreno_sim import AdrenoSimError, open_device
from adreno_sim.launch_spec.skeleton.guess import guess_launch
from adreno_sim.launch_spec.skeleton.kernel_use import KernelUse
from adreno_sim.launch_spec.skeleton.text import lines_to_decide, skeleton_text
from adreno_sim.launch_spec.skeleton.trial import settle

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

EVERYTHING = """
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
typedef unsigned int u32;
typedef struct { int a; float b; } S;
__attribute__((reqd_work_group_size(8, 4, 1)))
kernel void k(global const float4* restrict x, global S* s, constant u32* c, local float* scratch, u32 rows, uint offset0,
              float3 v, S st, read_only image2d_array_t im, write_only image2d_t out, sampler_t sm, global char* bytes,
              global int* count, long stride, global float* lambda, half4 h, int lambda_) {
  int i = get_global_id(0), j = get_global_id(1);
  scratch[get_local_id(0)] = x[i].x + v.x + st.b + c[0] + offset0 + stride + rows + h.x + lambda_;
  barrier(CLK_LOCAL_MEM_FENCE);
  s[i].b = scratch[0] + read_imagef(im, sm, (int4)(i, j, 0, 0)).x;
  lambda[i] = ((global float*)bytes)[i];
  write_imagef(out, (int2)(i, j), (float4)(1));
  atomic_inc(count);
}
"""


def use_of(source, options=""):
    program = open_device("sim:adreno-740").build(source, options)
    return KernelUse(program[program.kernel_names()[0]].function)


def guess(source, options=""):
    return guess_launch(use_of(source, options), "k.cl", options)


def test_every_kind_of_parameter():
    made = guess(EVERYTHING)
    keys = {argument.keys["name"]: argument.keys for argument in made.arguments}
    assert made.local_size == (8, 4)
    assert made.global_size == (16, 8)
    assert made.decide["local_size"] == "reqd_work_group_size of the kernel"
    assert (keys["x"]["dtype"], keys["x"]["data"]) == ("float32", {"fill": "random", "seed": 0})
    assert (keys["s"]["dtype"], keys["s"]["data"]) == ("float32", "unwritten")  # as the field that is written
    assert keys["c"]["dtype"] == "int32"
    assert keys["bytes"]["dtype"] == "float32"
    assert keys["count"]["data"] == "zeros"
    assert keys["lambda"]["data"] == "unwritten"
    assert keys["scratch"] == {"kind": "local", "name": "scratch", "nbytes": 4 * 32}
    assert keys["im"]["kind"] == "image2d_array"
    assert keys["im"]["channel_type"] == "FLOAT"
    assert keys["im"]["layers"] == 4
    assert keys["out"]["data"] == "unwritten"
    assert keys["sm"]["kind"] == "sampler"
    assert keys["rows"] == {"kind": "scalar", "name": "rows", "type": "int", "value": "rows"}
    assert keys["offset0"]["value"] == 0
    assert keys["stride"]["value"] == 1
    assert keys["v"]["value"] == [0.5, 0.5, 0.5]
    assert keys["st"]["type"] == "bytes"
    assert len(keys["st"]["value"]) == 8
    assert keys["h"]["value"] == [0.5] * 4
    assert made.values == {"rows": 16, "lambda_": 16}
    assert set(made.written) == {"s", "out", "count", "lambda"}


def test_the_text_is_a_launch_file_with_a_mark_on_each_guess():
    text = skeleton_text(guess(EVERYTHING))
    validator("launch").validate(tomllib.loads(text))
    marked = [text.splitlines()[number - 1] for number in lines_to_decide(text)]
    assert {line.split(" ")[0] for line in marked} == {
        "global_size", "rows", "lambda_", "count", "nbytes", "value", "width", "channel_type", "addressing",
    }  # fmt: skip
    assert "reqd_work_group_size" in text
    assert "# constant u32* c: read" in text


@pytest.mark.parametrize(
    "body, axes, group",
    [
        ("y[0] = 1;", 1, None),
        ("y[get_global_id(1)] = 1;", 2, None),
        ("y[get_global_id(2)] = 1;", 3, None),
        ("y[get_group_id(0)] = 1;", 1, (64,)),
        ("y[get_local_id(1)] = 1;", 2, (8, 8)),
        ("local float t[16][17]; t[get_local_id(1)][get_local_id(0)] = 1; barrier(1); y[0] = t[0][0];", 2, (16, 16)),
        ("local float t[200]; t[get_local_id(0)] = 1; barrier(1); y[0] = t[0];", 1, (128,)),
        ("local float4 t[100000 / 16]; t[get_local_id(0)] = 1; barrier(1); y[0] = t[0].x;", 1, (256,)),
    ],
)
def test_axes_and_groups(body, axes, group):
    made = guess(f"kernel void k(global float* y) {{ {body} }}")
    assert len(made.global_size) == axes
    assert made.local_size == group


def test_the_only_size_of_a_kernel_with_one_axis_counts_its_work_items():
    one = "kernel void k(global float* y, int n) { int i = get_global_id(0); if (i < n) y[i] = n; }"
    assert guess(one).values == {"n": 1024}
    assert guess(one.replace("int n", "int n, int m")).values == {"n": 16, "m": 16}


def trial_of(tmp_path, source):
    (tmp_path / "k.cl").write_text(source)
    made = guess(source)
    return settle(made, tmp_path / "launch.toml", tmp_path / "k.cl", "sim:adreno-740")


def test_what_is_too_small_grows(tmp_path):
    """A matrix product reads 16 rows of 3000; a group has five elements of local memory for each work-item."""
    trial = trial_of(
        tmp_path,
        "kernel void k(global float* y, global const float* x, local float* t, read_only image2d_t im) {\n"
        "  int i = get_global_id(0), l = get_local_id(0);\n  for (int j = 0; j < 5; j++) t[5 * l + j] = x[3000 * i + j];\n"
        "  y[i] = t[5 * l] + read_imagef(im, (int2)(i, 8 * i)).x;\n}\n",
    )
    assert not trial.errors
    assert trial.report.ok
    keys = {table["name"]: table for table in tomllib.loads(trial.text)["argument"]}
    assert keys["x"]["count"] >= 3000 * 127 + 5
    assert keys["y"]["count"] == 1024
    assert keys["t"]["nbytes"] >= 64 * 20
    assert keys["im"]["height"] >= 8 * 127 + 1
    assert trial.text.count("the trial launch stays inside") == 2


def test_what_no_size_cures_is_told_and_keeps_its_size(tmp_path):
    trial = trial_of(
        tmp_path,
        "kernel void k(global float* y, global const float* x) { int i = get_global_id(0); y[i] = x[i - 1] + x[i << 30]; }",
    )
    assert {finding.access.view for finding in trial.errors} == {"x"}
    counts = [table["count"] for table in tomllib.loads(trial.text)["argument"]]
    assert counts == [1024, 1024]
    assert trial.text.count("the trial launch stays inside") == 1


def test_a_group_of_another_shape_is_tried(tmp_path):
    """As TVM reduces rows: 16 work-items along y for each of 4 along x, and an array of 64."""
    source = (
        "kernel void k(global float* y, global const float* x) {\n  local float t[64];\n"
        "  int at = 16 * get_local_id(0) + get_local_id(1);\n  t[at] = x[64 * get_group_id(0) + at];\n"
        "  barrier(CLK_LOCAL_MEM_FENCE);\n  y[get_group_id(0)] = t[63 - at];\n}\n"
    )
    table = tomllib.loads((trial := trial_of(tmp_path, source)).text)
    assert not trial.errors
    assert table["local_size"] == [4, 16]
    assert table["global_size"] == [8, 32]
    overrun = trial_of(tmp_path, source.replace("t[at] =", "t[at + 64] ="))  # in no shape
    assert overrun.errors
    assert tomllib.loads(overrun.text)["local_size"] == [8, 8]


def test_a_kernel_that_does_not_end_is_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr("adreno_sim.launch_spec.skeleton.trial.SECONDS", 0.2)
    trial = trial_of(tmp_path, "kernel void k(global volatile int* y) { while (y[0] == 0) y[1] = 1; }")
    assert [finding.kind.label for finding in trial.errors] == ["watchdog"]


def test_a_kernel_without_parameters(tmp_path):
    trial = trial_of(tmp_path, 'kernel void k(void) { if (get_global_id(0) == 0) printf("x\\n"); }')
    assert trial.report.ok
    assert "expected =" not in trial.text


CORPUS = sorted((Path(__file__).parents[2] / "kernels" / "corpus").rglob("*.cl"))


@pytest.mark.slow
def test_most_kernels_of_the_corpus_run_at_first_try(tmp_path):
    """No launch is refused, and errors are those of the kernels, each of which has a defect."""
    clean = tried = 0
    for path in CORPUS:
        try:
            use = use_of(path.read_text())
        except AdrenoSimError:  # defects that do not compile
            continue
        trial = settle(guess_launch(use, str(path)), tmp_path / "launch.toml", path, "sim:adreno-740")
        assert trial.report is not None, (path, trial.refused)
        tried += 1
        clean += not trial.errors
    assert tried > 100, (clean, tried)
    assert clean > 0.75 * tried, (clean, tried)
