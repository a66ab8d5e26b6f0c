"""Text on a terminal: sentences go on between words, source lines are a window around the mark, files have whole lines."""

from __future__ import annotations

import io
import re

import pytest

from adreno_sim.findings import Finding, Kind, Note
from adreno_sim.render.console import open_console, say_line
from adreno_sim.render.report import explain

MESSAGE = "reads 4 bytes at offset 4096 of values, which has 4096 bytes, by an index that grows with each work-item of the group"
SOURCE = (
    "kernel void f() {\n  int first = 1;\n"
    + "  first += 1;" * 20
    + " y[first] = values[first + 1]; "
    + "  first += 1;" * 20
    + "\n}\n"
)
FINDING = Finding(
    Kind.OUT_OF_BOUNDS_READ, MESSAGE, kernel="f", line=3, column=SOURCE.splitlines()[2].index("values") + 1, file="k.cl",
    notes=(Note("first is declared here, as a number that nothing in this kernel ever compares with the size of values", 2, 7),),
    patch="--- k.cl\n+++ k.cl\n@@ -1 +1 @@\n" + "-" + "y = x + " * 20 + "1;\n" + "+" + "y = z + " * 20 + "1;\n",
)  # fmt: skip


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(params=[40, 80, 132])
def width(request, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(request.param))
    monkeypatch.setenv("TERM", "xterm")
    return request.param


def plain(file: io.StringIO) -> list[str]:
    return re.sub(r"\x1b\[[0-9;]*m", "", file.getvalue()).splitlines()


def test_a_finding_fits_the_terminal(width):
    file = Terminal()
    explain.show([FINDING], {"k.cl": SOURCE}, file)
    lines = plain(file)
    sentences = lines[: next(place for place, line in enumerate(lines) if line.startswith("   patch"))]
    assert max(map(len, sentences)) <= width
    assert MESSAGE in " ".join(" ".join(sentences).split())
    mark = next(place for place, line in enumerate(lines) if line.strip(" |") == "^")
    assert lines[mark - 1][lines[mark].index("^") :].startswith("values")
    assert "first is declared here" in " ".join(lines[:mark])
    assert any(line == "   +" + "y = z + " * 20 + "1;" for line in lines)


def test_a_file_has_whole_lines(width):
    file = io.StringIO()
    explain.show([FINDING], {"k.cl": SOURCE}, file)
    assert f"k.cl:3:{FINDING.column}: error: {MESSAGE} [out-of-bounds-read]" in plain(file)


def test_lines_go_on_further_right(width):
    file = Terminal()
    say_line(open_console(file), f"not checked: {MESSAGE}")
    first, *rest = plain(file)
    assert first.startswith("not checked: ")
    assert all(line.startswith("  ") and len(line) <= width for line in rest)
    assert " ".join(" ".join([first, *rest]).split()) == f"not checked: {MESSAGE}"


def test_a_file_has_the_same_lines_without_rich_as_with_it(monkeypatch):
    """rich is imported for a terminal, or if a variable of its own asks for one; an empty FORCE_COLOR says that there is none."""
    texts = [
        "plain",
        "[bold]brackets[/bold] :smile: 1.5",
        "tabs\tand\x1b[31m controls\u202e",
        "  indented",
        "",
        "trailing   ",
        MESSAGE * 9,
    ]

    def print_all() -> str:
        file = io.StringIO()
        explain.show([FINDING], {"k.cl": SOURCE}, file)
        console = open_console(file)
        for text in texts:
            say_line(console, text, "bold red")
        assert not console.is_terminal
        return file.getvalue()

    monkeypatch.delenv("FORCE_COLOR", raising=False)
    without = print_all()
    monkeypatch.setenv("FORCE_COLOR", "")
    assert type(open_console(io.StringIO())).__name__ == "ShownConsole"
    assert print_all() == without
