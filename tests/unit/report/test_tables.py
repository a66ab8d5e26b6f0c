"""Tables on terminals and in Markdown: cells are shown as they are, whatever characters they hold."""

import io
import random

import pytest
from rich.console import Console

from adreno_sim.compiler.precision.local_error import LayerError
from adreno_sim.compiler.precision.report import PrecisionReport
from adreno_sim.render.console import open_console
from adreno_sim.render.precision import text as precision_text
from adreno_sim.render.table import Column, figure_column, list_markdown_lines, make_table, print_table, text_column

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
    assert coloured.count("\x1b[1;31m") == 1
    assert "wrong" in coloured.partition("\x1b[1;31m")[2]


def test_markdown_aligns_figures_and_escapes_cells():
    assert list_markdown_lines(COLUMNS, [("a|b_c", "1")]) == ["| what | bytes |", "| --- | ---: |", "| a\\|b\\_c | 1 |"]
    assert list_markdown_lines([Column("n", str, right=True)], []) == ["| n |", "| ---: |"]


def test_a_precision_report_that_is_piped_keeps_long_names():
    layers = (LayerError(0, "blocks." * 12 + "conv", "nn.conv2d", (1, 8, 16, 16), 1e-3, 1.5, 9.0),)
    report = PrecisionReport("m", "texture", "d", "float16", "float32", ("nn.conv2d",), 0.01, "", layers, (), (0,), 1e-4)
    file = io.StringIO()
    precision_text.show(report, file)
    assert layers[0].name in file.getvalue()
    assert "…" not in file.getvalue()


NAMES = ["fused_conv2d_add_relu_multiply_texture_kernel_number_12", "a_short_one"]
WIDE = [
    text_column("kernel", lambda row: row[0]), figure_column("launches", lambda row: row[1]),
    figure_column("bytes", lambda row: row[1]), text_column("why", lambda row: "many words that go on in the next line"),
    figure_column("golden", lambda row: "ok", style=lambda row: "green"),
]  # fmt: skip


@pytest.mark.parametrize("width", [30, 60, 80, 100, 120, 220])
def test_neither_a_word_nor_a_figure_is_cut_at_any_width(width):
    file = io.StringIO()
    console = Console(file=file, width=width, force_terminal=True, color_system=None)
    print_table(console, WIDE, [(name, "123,456,789") for name in NAMES])
    text = file.getvalue()
    for word in (*NAMES, "many", "words", "next", "kernel", "launches", "golden"):
        assert word in text.split(), text
    assert text.split().count("123,456,789") == 4
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= max(width, len(NAMES[0]))


@pytest.mark.parametrize("width", [40, 80])
def test_words_of_columns_that_do_not_break_go_on_in_the_next_line_too(width):
    file = io.StringIO()
    told = "max_pool2d_opencl after Conv conv, Relu relu"
    columns = [
        figure_column("bytes", lambda row: row),
        *(Column(title, lambda row: told) for title in ("made by", "read by", "saves")),
    ]
    print_table(Console(file=file, width=width, force_terminal=True, color_system=None), columns, ["2,048"])
    assert max(map(len, file.getvalue().splitlines())) <= width
    assert " ".join(file.getvalue().split()).count(told) == 3


def test_a_table_without_rows_has_its_titles():
    file = io.StringIO()
    print_table(Console(file=file, width=10), WIDE, [])
    assert "kernel" in file.getvalue()
    assert "golden" in file.getvalue()


class File(io.StringIO):
    def __init__(self, encoding):
        super().__init__()
        self._encoding = encoding

    @property
    def encoding(self):
        return self._encoding


WORDS = [
    "",
    "a",
    "conv2d_add_relu_kernel",
    "1,024",
    " x",
    "y ",
    "two  words",
    "'\\x1b[0m'",
    "w" * 90,
    "Ω",
    "日本",
    "a\u0301",
    "\t",
]


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
@pytest.mark.parametrize("pad_edge", [False, True])
def test_a_table_in_a_file_is_what_rich_writes(monkeypatch, encoding, pad_edge):
    chosen = random.Random(int(pad_edge))
    own = 0
    for _ in range(100):
        words = WORDS[: chosen.choice([4, 8, len(WORDS)])]
        columns = [
            Column(
                chosen.choice(words) or "t", lambda row, at=at: row[at], right=chosen.random() < 0.5, breaks=chosen.random() < 0.5
            )
            for at in range(chosen.randrange(1, 5))
        ]
        rows = [chosen.choices(words, k=len(columns)) for _ in range(chosen.randrange(4))]
        written = []
        for with_rich in (False, True):
            file = File(encoding)
            with monkeypatch.context() as patch:
                if with_rich:
                    patch.setattr("adreno_sim.render.table.write_lines", lambda console, lines: False)
                console = open_console(file)
                print_table(console, columns, rows, pad_edge)
            own += "_rich" not in vars(console)
            written.append(file.getvalue())
        assert written[0] == written[1], (columns, rows)
    assert (own > 30) == (encoding == "utf-8")
