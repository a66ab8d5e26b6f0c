"""ci/clients/llama_operators.py with a program that answers as llama.cpp's test-backend-ops does."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "ci/clients/llama_operators.py"
PROGRAM = f"""#!{sys.executable}
import os, sys
ENDS = {{"ADD(n=1)": "OK", "ADD(n=2)": "OK", "MUL(n=1)": "not supported [CPU]", "SIGMOID(type=bf16)": None, "SUB(n=1)": "OK"}}
if sys.argv[1] == "support":
    print('"backend_name","op_name","op_params","supported"')
    for case in ENDS:
        name, _, params = case[:-1].partition("(")
        for backend in ("OpenCL", "CPU"):
            print(f'"{{backend}}","{{name}}","{{params}}","1"')
    sys.exit()
open(os.environ["CALLS"], "a").write(sys.argv[3] + "\\n")
for case, end in ENDS.items():
    if case in sys.argv[3].split(","):
        if end is None:
            os.abort()
        print(f"  {{case}}: \\033[1;32m{{end}}\\033[0m", flush=True)
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs the script with the program; returns its exit code, its last line, and the cases of each call of the program."""
    program, calls = tmp_path / "test-backend-ops", tmp_path / "calls"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    monkeypatch.setenv("CALLS", str(calls))

    def run_script(*words: str) -> tuple[int, str, list[str]]:
        calls.write_text("")
        done = subprocess.run([sys.executable, str(SCRIPT), str(program), *words], capture_output=True, text=True, check=False)
        assert done.stdout, done.stderr
        return done.returncode, done.stdout.splitlines()[-1], calls.read_text().splitlines()

    return run_script


def test_goes_on_behind_a_case_that_ends_the_program(run):
    code, last, calls = run("5")
    assert last.startswith("5 cases, 5 drawn: 3 OK, ")
    assert "1 not supported [CPU]" in last
    assert "status -6 (known: " in last
    assert code == 0
    assert calls == ["ADD(n=1),ADD(n=2),MUL(n=1),SIGMOID(type=bf16),SUB(n=1)", "SUB(n=1)"]


def test_what_has_a_result_does_not_run_again(run, tmp_path):
    results = tmp_path / "results"
    first = run("5", "--jobs", "2", "--results", str(results))
    assert dict(map(json.loads, results.read_text().splitlines()))["SUB(n=1)"] == "OK"
    results.write_text("".join(line for line in results.read_text().splitlines(keepends=True) if "ADD" not in line))
    code, last, calls = run("5", "--results", str(results))
    assert (code, sorted(last.split(": ", 1)[1])) == (first[0], sorted(first[1].split(": ", 1)[1]))
    assert calls == ["ADD(n=1),ADD(n=2)"]
