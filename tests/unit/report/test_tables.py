"""Tables on terminals and in Markdown: cells are shown as they are, whatever characters they hold."""

import io

import pytest
from rich.console import Console

from adreno_sim.compiler.precision.local_error import LayerError
from adreno_sim.compiler.precision.report import PrecisionReport
from adreno_sim.render.precision import text as precision_text
from adreno_sim.render.table import Column, figure_column, list_markdown_lines, make_table, text_column

COLUMNS = [text_column("what", lambda row: row[0]), figure_column("bytes", lambda row: row[1])]


def write(columns, rows, width=60, **options):
    file = io.StringIO()
    Console(file=file, width=width, **options).print(make_table(columns, rows))
    return file.getvalue()


@pytest.mark.parametrize("said", ["(msgs[i].IsNested()) is false", "model[red].onnx", "[/]", ":warning: x", "plain"])
def test_a_cell_is_no_markup(said):
    assert said in write(COLUMNS, [(said, "1")])
    assert said in write([text_column(said, lambda row: row[0])], [("a", "1")])


def test_words_are_broken_without_loss_and_figures_never():
    name = "a_name_that_is_longer_than_its_column_" * 2
    lines = write(COLUMNS, [(name, "123,456,789")], width=40).splitlines()
    assert any("123,456,789" in line for line in lines)
    assert "".join(line.split()[0] for line in lines if "a_name" in line or "_" in line) == name


def test_a_style_colours_one_cell():
    column = figure_column("golden", lambda row: row, style=lambda row: {"wrong": "bold red", "ok": ""}[row])
    coloured = write([column], ["wrong", "ok"], force_terminal=True, color_system="standard")
    assert coloured.count("\x1b[1;31m") == 1 and "wrong" in coloured.partition("\x1b[1;31m")[2]


def test_markdown_aligns_figures_and_escapes_cells():
    assert list_markdown_lines(COLUMNS, [("a|b_c", "1")]) == ["| what | bytes |", "| --- | ---: |", "| a\\|b\\_c | 1 |"]
    assert list_markdown_lines([Column("n", str, right=True)], []) == ["| n |", "| ---: |"]


def test_a_precision_report_that_is_piped_keeps_long_names():
    layers = (LayerError(0, "blocks." * 12 + "conv", "nn.conv2d", (1, 8, 16, 16), 1e-3, 1.5, 9.0),)
    report = PrecisionReport("m", "texture", "d", "float16", "float32", ("nn.conv2d",), 0.01, "", layers, (), (0,), 1e-4)
    file = io.StringIO()
    precision_text.show(report, file)
    assert layers[0].name in file.getvalue() and "…" not in file.getvalue()
