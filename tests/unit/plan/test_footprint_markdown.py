"""`adreno-sim footprint --markdown`: tables as a Markdown reader sees them."""

import itertools

import pytest
from markdown_it import MarkdownIt

from adreno_sim.cli.main import main

OLD = "id,lower,upper,size\na,0,3,64\nb,0,2,32\nc,2,4,32\nd,3,5,64\n"
NEW = OLD.replace("b,0,2,32", "b,0,2,96")


@pytest.fixture
def traces(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in (("old.csv", OLD), ("net|*work*<b>.csv", NEW)):
        (tmp_path / name).write_text(text)
    assert main(["footprint", "old.csv", "--planners", "naive,arena", "--json", "old.json"]) == 0
    return tmp_path


def cells(text):
    """Rows of the tables in a Markdown text, each a list of cells' plain texts."""
    rows = []
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    for token, inner in itertools.pairwise(tokens):
        if token.type == "tr_open":
            rows.append([])
        if token.type in ("th_open", "td_open"):
            rows[-1].append("".join(child.content for child in inner.children))
    return rows


def test_against_an_older_footprint(traces, capsys):
    args = ["footprint", "net|*work*<b>.csv", "--planners", "naive,arena", "--markdown", "out.md"]
    assert main([*args, "--compare", "old.json"]) == 0
    text = (traces / "out.md").read_text()
    assert cells(text) == [
        ["planner", "before", "now", "change", "ratio", "storages", "fits"],
        ["naive", "192", "256", "+64 (+33.3%)", "1.600", "4", "yes"],
        ["arena", "96", "160", "+64 (+66.7%)", "1.000", "1", "yes"],
    ]
    assert "Live lower bound: +64 bytes." in text
    assert "* +96 bytes: +1 of b (96 bytes)" in text
    html = MarkdownIt("commonmark").enable("table").render(text)
    assert "<h4>net|*work*&lt;b&gt;.csv</h4>" in html
    assert "<em>" not in html
    assert "against old.json:" in capsys.readouterr().out  # the text stays


def test_without_one(traces):
    assert main(["footprint", "old.csv", "--planners", "naive,tflite", "--markdown", "out.md"]) == 0
    table = cells((traces / "out.md").read_text())
    assert table[0] == ["planner", "bytes", "ratio", "storages", "fits"]
    assert table[1][:2] == ["naive", "192"]
    assert main(["footprint", "old.csv", "--planners", "arena", "--markdown", "out.md", "--compare", "old.json"]) == 0
    assert cells((traces / "out.md").read_text())[1][1:4] == ["96", "96", "none"]
