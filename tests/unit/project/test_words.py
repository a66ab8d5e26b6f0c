"""One word, one meaning: the table of words in docs/architecture.md against the code, and names of classes."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
MOST_OF_A_NAME = 2
"""Classes of one name: `Image` may be an OpenCL object in one package and a parameter in another, but not three things."""

ROW = re.compile(r"^\| (?P<word>[^|]+) \| (?P<meaning>[^|]+) \| (?P<where>[^|]+) \|$")


def read_words() -> list[tuple[str, list[str]]]:
    """Each word of the table, with what the last column names."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = text.split("## Words", 1)[1].split("\n## ", 1)[0]
    rows = [match for line in table.splitlines() if (match := ROW.match(line))][1:]
    return [(row["word"], re.findall(r"`([^`]+)`", row["where"])) for row in rows]


@pytest.fixture(scope="module")
def classes() -> dict[str, list[str]]:
    """The name of each public class at the top of a module -> the files that define one."""
    found: dict[str, list[str]] = defaultdict(list)
    for top in ("adreno_sim", "compiler", "golden"):
        for path in sorted((ROOT / top).rglob("*.py")):
            if any(parent.is_symlink() for parent in path.parents if ROOT in parent.parents):
                continue
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    found[node.name].append(str(path.relative_to(ROOT)))
    return found


def test_the_table_has_forty_words_and_each_once() -> None:
    words = [word for word, _ in read_words()]
    assert len(words) >= 40
    assert len(set(words)) == len(words)


def test_what_stands_behind_a_word_exists_and_no_second_class_has_its_name(classes: dict[str, list[str]]) -> None:
    wrong = {}
    for word, names in read_words():
        for name in names:
            if "/" in name:
                if not any((ROOT / top / name).exists() for top in ("", "adreno_sim")):
                    wrong[word] = f"{name} is not there"
            elif len(classes[name]) != 1:
                wrong[word] = f"{name} is defined in {classes[name] or 'no file'}"
        if not names:
            wrong[word] = "nothing is named"
    assert not wrong


def test_no_name_of_a_class_has_three_meanings(classes: dict[str, list[str]]) -> None:
    assert {name: files for name, files in classes.items() if len(files) > MOST_OF_A_NAME} == {}
