"""What the command line is to those who type it: help, the word that was meant, completion, defaults of a project."""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from adreno_sim.cli.main import _parser, main
from adreno_sim.cli.shell import completion

COMMANDS = next(action.choices for action in _parser()._actions if action.choices)
KERNEL = "kernel void k(global const float* x, global float* y, int n) { int i = get_global_id(0); if (i < n) y[i] = x[i]; }"


@pytest.mark.parametrize("width", [80, 110])
def test_help_is_as_wide_as_the_terminal(monkeypatch, capsys, width):
    monkeypatch.setenv("COLUMNS", str(width))
    for words in [[], *([name, "--help"] for name in COMMANDS)]:
        assert main(words) == 0
        wide = [line for line in capsys.readouterr().out.splitlines() if len(line) > width and len(line.split()) > 2]
        assert not wide, (words, wide)


def test_texts_are_filled_and_examples_are_kept(monkeypatch, capsys):
    """A paragraph has no short line but its last; a long command goes on behind a backslash, its comment behind another mark."""
    monkeypatch.setenv("COLUMNS", "80")
    main(["calibrate", "--help"])
    told = capsys.readouterr().out
    paragraph = next(part for part in told.split("\n\n") if part.startswith("Small kernels run")).splitlines()
    assert all(len(f"{line} {after.split()[0]}") > 78 for line, after in itertools.pairwise(paragraph))
    main(["layout", "--help"])
    told = capsys.readouterr().out
    assert (
        "    adreno-sim layout image2d_array 28x40x9 --type HALF_FLOAT --at 27,39,8 \\\n    --byte 4096 --svg layout.svg\n"
        in told
    )
    assert "    adreno-sim layout image2d 28x40 --row-pitch 448\n        # which rules take it\n" in told
    main(["replay", "--help"])
    assert (
        "        # launches, one by one; --launch N, --cut FROM:TO, --kernels REGEX\n        # choose\n"
        in capsys.readouterr().out
    )
    main(["init", "--help"])
    told = capsys.readouterr().out
    assert "\n              kernel's code; every guess is a line marked DECIDE.\n              It is tried once" in told


def test_a_command_has_the_same_help_where_it_is_parsed_alone():
    for name, parser in COMMANDS.items():
        alone = next(action.choices for action in _parser(name)._actions if action.choices)
        assert list(alone) == ([name] if name != "completion" else list(COMMANDS))
        assert alone[name].format_help() == parser.format_help()


def test_options_are_grouped_and_none_is_lost(capsys):
    for name, parser in COMMANDS.items():
        grouped = [action for group in parser._action_groups for action in group._group_actions]
        assert len(grouped) == len(set(map(id, grouped))) == len(parser._actions), name
    main(["check", "--help"])
    text = capsys.readouterr().out
    places = [text.index(f"\n{title}:") for title in ("model", "device", "looking", "output")]
    assert places == sorted(places)
    assert places[1] < text.index("\n  --device DEVICE") < places[2]
    assert main([]) == 0
    assert capsys.readouterr().out.count("\n  adreno-sim ") == 3


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["chek", "m.onnx"], "did you mean check"),
        (["check", "m.onnx", "--chekcs", "full"], "did you mean --checks"),
        (["kernel", "k.cl", "--sises=3"], "did you mean --sizes"),
        (["check", "m.onnx", "--checks", "ful"], "did you mean full?"),
        (["footprint", "m.onnx", "--planners", "arenna"], "did you mean arena"),
        (["--versoin"], "the following arguments are required: COMMAND; --versoin; did you mean --version? (see"),
        (["check", "--taget=buffer"], "are required: MODEL; --taget=buffer; did you mean --target"),
        (["check", "-m.onnx"], "are required: MODEL; -m.onnx begins with - as options do: -- goes before such names"),
        (["explain", "DATA-RACE"], "did you mean data-race?"),
        (["devices", "--profile", "sim:adreno-740,pich_rule=pixels"], "(did you mean pitch_rule or own_pitch_rule?)"),
        (["check", "m.onnx", "--zzzz"], "unrecognized arguments: --zzzz (see adreno-sim check --help)"),
    ],
)
def test_the_word_that_was_meant(tmp_path, monkeypatch, capsys, words, meant):
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    err = capsys.readouterr().err
    assert meant in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_every_command_and_option_is_in_a_script(capsys, shell):
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    for name, parser in COMMANDS.items():
        assert name in script
        for flag in completion._flags(parser):
            assert (f"-l {flag[2:]}" if shell == "fish" else flag) in script


def test_bash_completes(capsys):
    if shutil.which("bash") is None:
        pytest.skip("no bash")
    main(["completion", "bash"])
    script = capsys.readouterr().out

    def complete(*words: str) -> list[str]:
        line = " ".join(f"'{word}'" for word in words)
        ask = f"COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _adreno_sim; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        return subprocess.run(["bash", "-c", f"{script}\n{ask}"], capture_output=True, text=True, check=True).stdout.split()

    assert complete("adreno-sim", "ker") == ["kernel"]
    assert complete("adreno-sim", "kernel", "--chec") == ["--checks"]
    assert complete("adreno-sim", "kernel", "--checks", "") == ["off", "bounds", "full"]
    assert complete("adreno-sim", "kernel", "k") == []


def test_a_project_sets_defaults_behind_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ADRENO_SIM_DEVICE", raising=False)
    Path("k.cl").write_text(KERNEL)
    Path("pyproject.toml").write_text('[tool.adreno-sim]\ndevice = "sim:adreno-650"\nstrict = true\nchecks = "full"\n')

    def report(*words: str) -> dict:
        assert main(["kernel", "k.cl", "--sizes", "8", "--json", "r.json", *words]) == 0
        return json.loads(Path("r.json").read_text())

    found = report()
    assert (found["device"], found["strict"], found["checks"]) == ("adreno-650", True, "full")
    assert report("--device", "sim:adreno-740")["device"] == "adreno-740"
    assert report("--checks", "bounds")["checks"] == "bounds"
    monkeypatch.setenv("ADRENO_SIM_DEVICE", "sim:adreno-660")
    assert report()["device"] == "adreno-660"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('checks = "bounds"', "checks: expected one of full"),
        ('checks = "off"', "checks: expected one of full"),
        ('device = "sim:adreno-650,checks=off"', "does not decide this"),
        ('device = "cl:0"', "may name a simulated device"),
        ("strickt = true", "did you mean strict?"),
        ('json = "out.json"', "no such key"),
        ("strict = 1", "strict: expected"),
    ],
)
def test_a_project_lowers_no_check(tmp_path, monkeypatch, capsys, line, said):
    monkeypatch.chdir(tmp_path)
    Path("k.cl").write_text(KERNEL)
    Path("pyproject.toml").write_text(f"[tool.adreno-sim]\n{line}\n")
    assert main(["kernel", "k.cl"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: pyproject.toml: ")
    assert said in err
    assert err.count("\n") == 1
