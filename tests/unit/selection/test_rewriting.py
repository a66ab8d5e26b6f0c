"""Each process of the tests compiles a part of the modules before all are imported."""

from __future__ import annotations

import sys
from types import SimpleNamespace

from selection import rewriting

SOURCES = {
    "tests/test_a.py": "assert True",
    "tests/test_b.py": "assert True",
    "tests/test_broken.py": "assert (",
    "tests/helper.py": "number = 1",
    "adreno_sim/part.py": "number = 2",
}


def test_parts_together_are_all_and_a_file_that_is_broken_stays_for_the_collection(tmp_path, monkeypatch, request):
    for name, source in SOURCES.items():
        (place := tmp_path / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
        place.write_text(source)
    (tmp_path / "tree" / "adreno_sim" / "linked").symlink_to(tmp_path / "tree" / "tests")
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "kept"))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    config = SimpleNamespace(rootpath=tmp_path / "tree", stash=request.config.stash, getini=request.config.getini)
    kept = []
    for number in range(2):
        rewriting.compile_part(config, number, 2)
        kept.append({path.name.partition(".")[0] for path in (tmp_path / "kept").rglob("*.pyc")})
    assert kept[0] < kept[1] == {"test_a", "test_b", "helper", "part"}


def test_nothing_is_written_where_bytecode_is_forbidden(tmp_path, monkeypatch, request):
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    rewriting.compile_part(request.config, 0, 1)
    assert not any(tmp_path.iterdir())
