"""When a patch is offered, and when not: what may be tried, what is proof enough, what the source must be like."""

from __future__ import annotations

from pathlib import Path

import pytest

from adreno_sim.cli.main import main
from adreno_sim.launch_spec.mending import launch as mending
from adreno_sim.launch_spec.mending.source import Source
from adreno_sim.launch_spec.read import read_launch

UNSET = """\
kernel void f(global const int *x, global int *y) {
  int i = get_global_id(0);
  int acc;
  acc += x[i];
  y[i] = acc;
}
"""
LAUNCH = """\
global_size = [4]
argument = [{kind = "buffer", dtype = "int32", count = 4, data = "arange"}, {kind = "buffer", dtype = "int32", count = 4}]
run = {checks = "full"}
"""


@pytest.fixture
def patch_of(tmp_path, monkeypatch):
    """Runs a kernel and returns its patches, and how often it ran."""
    monkeypatch.chdir(tmp_path)
    runs = []
    plain = mending.run_launch
    monkeypatch.setattr(mending, "run_launch", lambda *args, **options: runs.append(options) or plain(*args, **options))

    def run(source: str, launch: str = LAUNCH) -> tuple[list[str], int]:
        Path("k.cl").write_text(source, encoding="utf-8", errors="surrogateescape")
        Path("k.toml").write_text(launch, encoding="utf-8")
        runs.clear()
        report = mending.run_and_mend(read_launch(Path("k.toml")), Path("k.cl"))
        return [finding.patch for finding in report.findings if finding.patch], len(runs)

    return run


def test_a_clean_launch_runs_once(patch_of):
    assert patch_of(UNSET.replace("int acc;", "int acc = 0;")) == ([], 1)


def test_expected_findings_are_not_mended(patch_of):
    assert patch_of(UNSET, LAUNCH + '[[finding]]\nkind = "uninitialized-read"\nline = 5\n') == ([], 1)


def test_no_patch_where_the_result_would_be_wrong(patch_of):
    expected = "output = [{argument = 1, data = [%s]}]\n"
    (patch,), _ = patch_of(UNSET, expected % "0, 1, 2, 3" + LAUNCH)
    assert "+  int acc = 0;" in patch
    patches, runs = patch_of(UNSET, expected % "7, 8, 9, 10" + LAUNCH)
    assert not patches
    assert runs > 1


def test_two_mistakes_are_mended_together_or_not_at_all(patch_of):
    both = UNSET.replace("acc += x[i];", "for (int n = 0; n <= 3; ++n)\n    acc += x[n + (n > 2)];")
    assert patch_of(both)[0]
    assert patch_of(both)[0][0].count("\n+  ") == 2
    one = UNSET.replace("acc += x[i];", "acc += x[i + 1];")
    assert not patch_of(one)[0]


def test_lines_that_markers_number_are_left_alone(patch_of):
    assert patch_of('#line 7 "model.py"\n' + UNSET) == ([], 1)


def test_any_bytes_in_comments(patch_of):
    (patch,), _ = patch_of(UNSET.replace("  int acc;", "  int acc; // \udce9 (\t\"'"))
    assert "+  int acc = 0; // \udce9" in patch


def test_the_command_offers_it_and_changes_no_file(patch_of, capsys):
    patch_of(UNSET)
    assert main(["kernel", "k.cl", "--launch", "k.toml", "--explain"]) == 1
    assert "   +  int acc = 0;" in capsys.readouterr().out.splitlines()
    assert Path("k.cl").read_text() == UNSET
    assert main(["kernel", "k.cl", "--launch", "k.toml", "--explain", "--no-patch"]) == 1
    assert "int acc = 0" not in capsys.readouterr().out


def test_a_kernel_alone_is_enough(patch_of, capsys):
    patch_of(UNSET)
    assert main(["kernel", "k.cl"]) == 1
    assert "   +  int acc = 0;" in capsys.readouterr().out.splitlines()
    assert main(["kernel", "k.cl", "--no-patch"]) == 1
    assert "int acc = 0" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "text, inside, statement",
    [
        ("{ a = 1; b[i] = f(2, 3); c = 4; }", "f(2", "b[i] = f(2, 3);"),
        ("{ if (x) b = 2; }", "b =", "b = 2;"),
        ("{ for (int n = 0; n < 4; ++n) b = n; }", "b =", "b = n;"),
        ("{ for (int n = 0; n < 4; ++n) b = n; }", "n < 4", None),
        ("{ if (b[1] > 2) c = 3; }", "b[1]", None),
        ("{ else b = 2; }", "b =", "b = 2;"),
        ("{ while (x) { b = 2; } }", "b =", "b = 2;"),
        ('{ /* ; */ b = ";"; }', "b =", 'b = ";";'),
        ("{\n#define N 4;\n  b = N;\n}", "b =", "b = N;"),
        ("{ switch (x) { case 1: b = 2; } }", "b =", "b = 2;"),
        ("{ b = 2 }", "b =", None),
    ],
)
def test_the_statement_at_a_place(text, inside, statement):
    source = Source(text)
    span = source.statement(text.index(inside))
    assert (None if span is None else text[slice(*span)]) == statement
