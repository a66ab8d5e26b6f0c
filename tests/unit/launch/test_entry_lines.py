"""The line of an entry in a launch file, in every way in which TOML writes tables."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adreno_sim.base.errors import AdrenoSimError
from adreno_sim.launch_spec import entry_lines
from adreno_sim.launch_spec.entry_lines import find_line
from adreno_sim.launch_spec.read import read_launch

TEXT = '''\
# a comment
global_size = [
  4,   # [[argument]]
  2,
]
options = """
[[argument]]
dtype = "no entry"
"""

[[argument]]
kind = "buffer"
data = {fill = "random",  seed = 1}
extent.shape = [2]
  [argument.more]
  x = 1
[[argument]]
"kind" = "image2d"

[storage."a.b"]
nbytes = 3
[variant.clean]
[[variant.clean.argument]]
kind = "null"
'''


@pytest.mark.parametrize(
    "entry, line",
    [
        (("global_size",), 2),
        (("options",), 6),
        (("argument",), None),
        (("argument", 0), 11),
        (("argument", 0, "kind"), 12),
        (("argument", 0, "missing"), 11),
        (("argument", 0, "data", "seed"), 13),
        (("argument", 0, "data", "missing"), 13),
        (("argument", 0, "extent", "shape"), 14),
        (("argument", 0, "more", "x"), 16),
        (("argument", 1, "kind"), 18),
        (("argument", 1, "more"), 17),
        (("storage", "a.b", "nbytes"), 21),
        (("variant", "clean", "argument", 0, "kind"), 24),
        (("variant", "clean", "missing"), 22),
        (("missing",), None),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_where_an_entry_is(entry, line, end):
    assert find_line(TEXT.replace("\n", end), entry) == line


def test_inline_tables_in_a_list_have_the_line_of_the_list():
    text = 'x = 1\nargument = [\n  {kind = "local"},\n  {kind = "null"},\n]\n'
    assert find_line(text, ("argument", 1, "kind")) == 2


def test_behind_a_long_statement_nothing_is_known(monkeypatch):
    monkeypatch.setattr(entry_lines, "MOST", 2000)
    assert find_line("x = [\n" + "1,\n" * 20 + "]\nlast = 1\n", ("last",)) == 23
    assert find_line("x = [\n" + "1,\n" * 60 + "]\nlast = 1\n", ("last",)) is None
    assert find_line("x = [" + "1, " * 700 + "]\nlast = 1\n", ("last",)) is None


@given(st.text(alphabet='[]"=.#\n {}ab1,', max_size=40))
def test_any_text_has_a_line_or_none(text):
    line = find_line(text, ("a", 0, "b"))
    assert line is None or 1 <= line <= text.count("\n") + 1


def test_errors_of_a_launch_file_end_with_it(tmp_path):
    path = tmp_path / "k.toml"
    launch = 'global_size = [4]\n[[argument]]\nkind = "null"\n'
    path.write_text(f'{launch}[variant.other]\n[[variant.other.argument]]\nkind = "bufer"\n')
    assert read_launch(path).arguments
    with pytest.raises(AdrenoSimError) as error:
        read_launch(path, "other")
    assert str(error.value).startswith(f"{path}: [[argument]] 1: kind: expected one of buffer, ")
    assert str(error.value).endswith(", got 'bufer' (at line 6)")
    path.write_text('global_size = [4]\n\n[[argument]]\nname = "x"\n')
    with pytest.raises(AdrenoSimError, match=r"kind: missing: .* null \(at line 3\)"):
        read_launch(path)
    path.write_text("globalsize = [4]\n")
    with pytest.raises(AdrenoSimError, match=r"each 0 or more; there is globalsize$"):
        read_launch(path)


@pytest.mark.parametrize(
    "variants, said",
    [
        ("variant = 3", "variant: expected a table, got 3 (at line 2)"),
        ("variant = [1]", "variant: expected a table, got [1] (at line 2)"),
        ("[variant]\nother = 3", "[variant]: other: expected a table, got 3 (at line 3)"),
        (
            "[variant.other]\nglobal_size = 3",
            "whole numbers, each 0 or more, got 3 (at line 3)",
        ),
        ("[variant.other]\nnothing = 3", "(at line 3)"),
    ],
)
def test_a_wrong_table_of_variants(tmp_path, variants, said):
    path = tmp_path / "k.toml"
    path.write_text(f"global_size = [4]\n{variants}\n")
    with pytest.raises(AdrenoSimError) as error:
        read_launch(path, "other")
    assert str(error.value).endswith(said)


def test_a_pipe_is_not_read_again(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with ThreadPoolExecutor(1) as writer:
        writer.submit(path.write_text, "global_size = 4\n")
        with pytest.raises(AdrenoSimError, match=r"each 0 or more, got 4$"):
            read_launch(path)
