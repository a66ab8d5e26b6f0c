"""Which elements of an argument a launch never wrote."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from adreno_sim.cli.main import main

KERNEL = """kernel void k(global float *s, global int *t, global uchar *u) {
  int i = get_global_id(0);
  if (i % 5) s[i] = i;
  t[i] = i; u[i] = i;
}"""
LAUNCH = """global_size = [40]
[[argument]]
kind = "buffer"
dtype = "float32"
count = 40
[[argument]]
kind = "buffer"
dtype = "int32"
count = 40
[[argument]]
kind = "buffer"
dtype = "uint8"
count = 48
data = "zeros"
"""


@pytest.mark.parametrize("checks", ["bounds", "full"])
def test_elements_that_were_never_written_are_a_line(checks: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "k.cl").write_text(KERNEL)
    (tmp_path / "k.toml").write_text(LAUNCH)
    report = tmp_path / "report.json"
    command = ["kernel", str(tmp_path / "k.cl"), "--launch", str(tmp_path / "k.toml"), "--json", str(report)]
    assert main([*command, "--checks", checks]) == 0
    assert "s: 8 of 40 elements never written (elements 0, 5, 10 and 5 more ranges)\n" in capsys.readouterr().out
    (coverage,) = json.loads(report.read_text())["coverage"]
    assert (coverage["argument"], coverage["elements"], coverage["unwritten"]) == ("s", 40, 8)


def test_a_copy_of_what_nobody_filled_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It holds the same pattern as memory that nothing was written to."""
    (tmp_path / "k.cl").write_text("kernel void k(global int *o, global const int *x) { int i = get_global_id(0); o[i] = x[i]; }")
    argument = '[[argument]]\nkind = "buffer"\ndtype = "int32"\ncount = 4\n'
    (tmp_path / "k.toml").write_text(f"global_size = [4]\n{argument}{argument}")
    main(["kernel", str(tmp_path / "k.cl"), "--launch", str(tmp_path / "k.toml"), "--checks", "bounds"])
    assert "never written" not in capsys.readouterr().out
