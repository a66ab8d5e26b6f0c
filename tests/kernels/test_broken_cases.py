"""A case of the corpus that cannot be read fails one test, which names file, place and what was expected. The others run."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from kernels.corpus_cases import CORPUS, find_broken

pytest_plugins = ["pytester"]

TESTS = Path(__file__).parents[1]
GOOD = CORPUS / "out-of-bounds-write" / "two_defects"


@pytest.fixture
def corpus(pytester: pytest.Pytester) -> Path:
    """A corpus of one whole case and one of each kind of broken ones, with the tests of the real one."""
    folder = pytester.path / "kernels" / "corpus" / "out-of-bounds-write"
    folder.mkdir(parents=True)
    launch = GOOD.with_suffix(".toml").read_text()
    texts = {
        "whole": launch,
        "no_toml": launch.replace("[[argument]]", "[[argument]", 1),
        "wrong_key": launch.replace("dtype =", "type =", 1),
        "no_clean": launch.partition("[variant")[0],
        "wrong_clean": launch + '[[variant.clean.argument]]\nkind = "bufer"\n',
        "no_kernel": launch,
        "bytes": launch,
    }
    for name, text in texts.items():
        (folder / f"{name}.toml").write_text(text)
        shutil.copy(GOOD.with_suffix(".cl"), folder / f"{name}.cl")
    (folder / "no_kernel.cl").unlink()
    (folder / "bytes.cl").write_bytes(b"kernel void k(\xff")
    (folder / "folder.toml").mkdir()
    for name in ("kernels/corpus_cases.py", "kernels/test_corpus.py"):
        shutil.copy(TESTS / name, pytester.path / name)
    pytester.makeconftest(f"import sys\nsys.path[:0] = [{str(pytester.path)!r}, {str(TESTS)!r}]\n")
    pytester.makeini("[pytest]\nmarkers = share\naddopts = --import-mode=importlib")
    return folder


def test_each_is_told_in_one_line_with_its_place(corpus: Path) -> None:
    told = find_broken(sorted(corpus.glob("*.toml")))
    found = {path.stem: why.removeprefix(str(path)).removeprefix(": ") for path, why in told.items()}
    assert list(found) == ["bytes", "folder", "no_clean", "no_kernel", "no_toml", "wrong_clean", "wrong_key"]
    assert found["bytes"].endswith("bytes.cl: expected UTF-8 text, got the byte 0xff at 14")
    assert found["folder"] == "cannot be read: Is a directory"
    assert found["no_clean"] == "no variant 'clean'; there are: none"
    assert found["no_kernel"] == "expected its kernel in no_kernel.cl: No such file or directory"
    assert "not a TOML file" in found["no_toml"]
    assert found["wrong_clean"].startswith("[[argument]] 1: kind: expected one of buffer, ")
    assert all("at line " in found[name] for name in ("no_toml", "wrong_clean", "wrong_key"))
    assert found["wrong_key"].startswith("[[argument]] 1 (in): type: no such key; the elements of a buffer have ")


def test_the_others_run(corpus: Path, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("kernels", "kernels.corpus_cases"):
        monkeypatch.delitem(sys.modules, module)
    run = pytester.runpytest_inprocess("kernels/test_corpus.py", "-q", "-k", "exactly", "-p", "no:cacheprovider", "-rf")
    assert run.parseoutcomes() | {"deselected": 0} == {"passed": 1, "failed": 7, "deselected": 0}
    for path, why in find_broken(sorted(corpus.glob("*.toml"))).items():
        item = f"test_exactly_the_expected_findings[out-of-bounds-write/{path.stem}]"
        assert run.outlines.count(why) == 1
        failed = [line.partition(" - ")[0] for line in run.outlines]  # how much of the reason follows depends on the terminal
        assert f"FAILED kernels/test_corpus.py::{item}" in failed
