"""Pages, docstrings, comments and messages do not use the words that CONTRIBUTING.md asks to replace."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SOURCES = ("adreno_sim", "compiler", "golden", "ci")
SUFFIXES = {".py", ".toml", ".c", ".h", ".js", ".sh", ".yml"}
GENERATED = {"benchmarks", "devices-evidence", "explanations", "fidelity", "kinds"}
"""Pages of `docs/` that a command writes from tables or texts."""
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *(path for path in sorted((ROOT / "docs").glob("*.md")) if path.stem not in GENERATED),
]

WORDS = re.compile(
    r"\b(?:of which|anew|but for|in the place of|known of|told|go(?:es)? without|mend(?:s|ed|ing)?|likewise|hence|thereof|kin"
    r"|(?<!there )(?:is|are) no (?!longer\b|more\b|less\b|larger\b|smaller\b)|stands? (?:below|above|beside|behind|in)"
    r"|held against|taken to be|(?:is|are) off by(?! one\b)|looked at|wants|comes? (?:of|up)|needless)\b",
    re.IGNORECASE,
)

STEMS = (
    "of which", "anew", "but for", "in the place of", "known of", "told", "go without", "goes without", "mend",
    "likewise", "hence", "thereof", " kin", "is no ", "are no ", "stand ", "stands ", "held against", "taken to be",
    "off by", "looked at", "wants", "come of", "comes of", "come up", "comes up", "needless",
)  # fmt: skip
"""Each word of `WORDS` has one of these in it. To look for them in a file is many times as fast as the expression."""

COMMENT = re.compile(r"(?:^ *|  )# ([^\n]*)$", re.MULTILINE)
PARAMETER = re.compile(r"\b[a-z_]+(?=(?:, [a-z_]+)*: )")
"""The name of a parameter that a docstring explains."""
C_TEXT = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:[^\"\\\n]|\\.)*\"", re.DOTALL)


def find_words(page: str) -> list[str]:
    """Each word to replace in the prose of a page, with the text around it. Code and the table of replacements are left out."""
    prose = page.partition("### Plain English")[0]
    prose = re.sub(r"^```.*?^```$|^    .*?$|^<!--.*?-->$", "", prose, flags=re.MULTILINE | re.DOTALL)
    return find_in_prose(re.sub(r"\]\([^)]*\)", "]", prose))


def find_in_prose(prose: str) -> list[str]:
    prose = re.sub(r"\s+", " ", re.sub(r"`[^`]*`", "`", prose))
    return [prose[max(0, word.start() - 30) : word.end() + 30] for word in WORDS.finditer(prose)]


def may_have_words(text: str) -> bool:
    """False only for a text without any of the words."""
    flat = " ".join(text.lower().split())
    for part, other in {'" f"': "", '" "': "", " # ": " ", " * ": " ", "{": "x"}.items():
        flat = flat.replace(part, other)
    return any(WORDS.search(flat, max(0, at - 12), at + 30) for stem in STEMS for at in find_all(flat, stem))


def find_all(text: str, part: str) -> Iterator[int]:
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + 1)


def read_texts(name: str, text: str) -> Iterator[str]:
    """The texts of a file for people: comments, docstrings, strings with more than a word. Else the whole file."""
    if name.endswith(".py"):
        yield from read_python(text)
    elif name.endswith((".c", ".h", ".js")):
        for found in C_TEXT.findall(re.sub(r'"\s*\n\s*"', "", text)):
            yield re.sub(r"\n\s*\*? *", " ", found)
    else:
        yield re.sub(r"\n\s*# *", " ", text)


def read_python(text: str) -> Iterator[str]:
    yield " ".join(COMMENT.findall(text))
    parts = set()
    for node in ast.walk(ast.parse(text)):  # a formatted string comes before its parts
        if isinstance(node, ast.JoinedStr):
            parts |= set(node.values)
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in parts and " " in node.value:
            yield PARAMETER.sub("", node.value)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_page_has_plain_words(path: Path) -> None:
    assert not find_words(path.read_text(encoding="utf-8"))


def test_sources_have_plain_words() -> None:
    found = {}
    for top in SOURCES:
        for path in sorted((ROOT / top).rglob("*")):
            if path.suffix in SUFFIXES and may_have_words(text := path.read_text(encoding="utf-8")):
                words = [word for part in read_texts(path.name, text) for word in find_in_prose(part)]
                if words:
                    found[str(path.relative_to(ROOT))] = words
    assert found == {}


IN_SOURCES = {
    "docstring.py": 'def read():\n    """Reads a file.\n\n    names: of\n    which one may be missing.\n    """\n',
    "attribute.py": 'X = 1\n"""What is known of it."""\n',
    "comment.py": "# all but\n# for z\n",
    "message.py": 'raise ValueError(f"{name} is "\n    f"no {kind} of it")\n',
    "table.toml": 'says = """It is no\n# finding."""\n',
    "comment.c": "/* Whose value\n * stands in a register. */\n",
    "message.c": 'say("argument %u is "\n    "no pointer", i);\n',
    "run.sh": "x=1  # one\n# of which\n",
}


@pytest.mark.parametrize("name", IN_SOURCES)
def test_a_word_in_a_source_is_found(name: str) -> None:
    assert may_have_words(IN_SOURCES[name])
    assert [word for part in read_texts(name, IN_SOURCES[name]) for word in find_in_prose(part)]


@pytest.mark.parametrize(
    "text", ['told = "told"', '"""told: each finding. all: those `told`."""', 'd["needless"]', "wants = not told"]
)
def test_names_in_code_are_left_alone(text: str) -> None:
    assert not [word for part in read_python(text) for word in find_in_prose(part)]


FOUND = ["12, of which 3 fail", "This\nis no finding.", "| a | sums but for\nthe last |", "The reason stands below."]
PLAIN = ["There is no driver.", "It is no longer than that.", "`is no kernel`", "    what is known of it", "```\nanew\n```\n"]


@pytest.mark.parametrize("text", FOUND)
def test_a_word_to_replace_is_found(text: str) -> None:
    assert may_have_words(text)
    assert find_words(text)


@pytest.mark.parametrize("text", PLAIN)
def test_plain_words_and_code_are_left_alone(text: str) -> None:
    assert not find_words(text)
