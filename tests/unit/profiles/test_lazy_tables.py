"""Tables that are parsed one by one are those of the whole file, in its order."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from adreno_sim.profiles import builtin
from adreno_sim.profiles.lazy_tables import read_lazily

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@pytest.mark.parametrize("name", ["chips", "drivers", "phones"])
def test_the_tables_of_a_file_are_all_there(name) -> None:
    path = Path(builtin.__file__).with_name(f"{name}.toml")
    whole = tomllib.loads(path.read_text(encoding="utf-8"))
    tables = read_lazily(path)
    assert {kind: dict(found) for kind, found in tables.items()} == whole
    assert {kind: list(found) for kind, found in tables.items()} == {kind: list(found) for kind, found in whole.items()}


def test_a_table_may_come_in_parts_and_has_a_name_of_any_kind(tmp_path) -> None:
    path = tmp_path / "tables.toml"
    path.write_text('# head\n[a.x]\nn = 1\n[b."1.2"]\nn = 2\n[[a.x.values]]\nm = [\n  3,\n]\n[a.x.more]\nk = "v"\n')
    tables = read_lazily(path)
    assert dict(tables["a"]) == {"x": {"n": 1, "values": [{"m": [3]}], "more": {"k": "v"}}}
    assert dict(tables["b"]) == {"1.2": {"n": 2}}
    with pytest.raises(KeyError):
        tables["a"]["y"]
