"""The source line beside each instruction of machine code: through NIR's passes, ir3's, unrolling, inlined functions."""

from __future__ import annotations

import json
import re

import pytest
from validators import validator

import adreno_sim
from adreno_sim.base.installed.extras import is_installed
from adreno_sim.cli import main as command_line
from adreno_sim.isa.assembly import place_lines
from adreno_sim.isa.chips import find_chip
from adreno_sim.isa.compile import compile_kernel

needs_mesa = pytest.mark.skipif(
    not is_installed("tinymesa"), reason="Mesa's compiler is not installed: the extra isa, for glibc from 2.32 on"
)
SOURCE = """\
float helper(float a) {
  return native_rsqrt(a);
}
kernel void k(read_only image2d_t image, sampler_t sampler, global float4 *y, local float4 *shared, int n) {
  int i = get_global_id(0);
  float4 s = read_imagef(image, sampler, (float2)(i, n));
  for (int j = 0; j < 4; j++)
    s.x += y[i + j].y;
  s.y = exp2(s.y);
  s.z = helper(s.z);
  shared[get_local_id(0)] = s;
  barrier(CLK_LOCAL_MEM_FENCE);
  s = shared[get_local_id(0) ^ n];
  if (n > 3)
    s.w = sin(s.w);
  y[i] = s;
}
"""
WHERE = {"saml": {6}, "ldg": {8}, "exp2": {9}, "rsq": {2}, "stl": {11}, "bar": {12}, "ldl": {13}, "sin": {15}, "stg": {16}}


def lines_of(source: str, chip: str = "a740", options: str = "-cl-std=CL3.0"):
    """The lines of each instruction by its name, with loops left and unrolled."""
    function = adreno_sim.open_device("sim:adreno-740").build(source, options).module.kernels["k"]
    (code,) = compile_kernel(function, [find_chip(chip)])
    found = []
    for one in (code.rolled, code.unrolled):
        lines: dict[str, list[int]] = {}
        for text, line in zip(one.text.splitlines(), one.lines, strict=True):
            name = re.sub(r"\([^)]*\)", "", text).split()[0].split(".")[0]
            lines.setdefault(name, []).append(line)
        found.append(lines)
    return found


@needs_mesa
@pytest.mark.parametrize("chip", ["a630", "a740"])
def test_instructions_have_the_line_of_what_they_do(chip):
    rolled, unrolled = lines_of(SOURCE, chip)
    for lines in (rolled, unrolled):
        assert {name: set(lines[name]) for name in WHERE} == WHERE
    assert rolled["ldg"] == [8]
    assert len(unrolled["ldg"]) > 1
    whole = [line for name, lines in rolled.items() if name != "nop" and ":" not in name for line in lines]
    assert sum(line > 0 for line in whole) > 0.7 * len(whole)
    assert max(whole) == 16


@needs_mesa
def test_lines_of_another_file_are_not_taken_for_the_sources(tmp_path):
    (tmp_path / "more.h").write_text("\n" * 40 + "float root(float a) { return native_rsqrt(a); }\n")
    source = '#include "more.h"\nkernel void k(global float *a) {\n  a[0] = root(a[1]) + native_exp2(a[2]);\n}\n'
    lines, _ = lines_of(source, options=f"-I {tmp_path}")
    assert lines["rsq"] == [0]
    assert lines["exp2"] == [3] == lines["stg"]


def test_labels_and_what_fills_the_end_have_no_line():
    assert place_lines("add.f r0.x, r0.y, r0.z\nl1:\nstg.f32 g[r0.x], r1.x, 1\nend\nnop\nnop\n", [3, 4, 0]) == (3, 0, 4, 0, 0, 0)


@needs_mesa
def test_the_command_writes_lines_beside_the_assembly(tmp_path, capsys):
    source, data = tmp_path / "k.cl", tmp_path / "k.json"
    source.write_text("kernel void k(global int *a) {\n\n  a[0] *= a[1];\n}\n")
    assert command_line.main(["kernel", str(source), "--dump", "isa", "--isa-of", "a630", "--json", str(data)]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert all(line.startswith("    3  ") for line in shown if "ldg" in line or "stg" in line or "mull" in line)
    report = json.loads(data.read_text())
    validator("machine-code").validate(report)
    code = report["kernels"][0]["rolled"]
    assert len(code["lines"]) == len(code["text"].splitlines())
    assert set(code["lines"]) == {0, 3}
