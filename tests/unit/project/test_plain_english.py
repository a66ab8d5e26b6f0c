"""The pages do not use the words that CONTRIBUTING.md asks to replace."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
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


def find_words(page: str) -> list[str]:
    """Each word to replace in the prose of a page, with the text around it. Code and the table of replacements are left out."""
    prose = page.partition("### Plain English")[0]
    prose = re.sub(r"^```.*?^```$|^    .*?$|^<!--.*?-->$", "", prose, flags=re.MULTILINE | re.DOTALL)
    prose = re.sub(r"\]\([^)]*\)", "]", re.sub(r"`[^`]*`", "`", prose))
    prose = re.sub(r"\s+", " ", prose)
    return [prose[max(0, word.start() - 30) : word.end() + 30] for word in WORDS.finditer(prose)]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_page_has_plain_words(path: Path) -> None:
    assert not find_words(path.read_text(encoding="utf-8"))


FOUND = ["12, of which 3 fail", "This\nis no finding.", "| a | sums but for\nthe last |", "The reason stands below."]
PLAIN = ["There is no driver.", "It is no longer than that.", "`is no kernel`", "    what is known of it", "```\nanew\n```\n"]


@pytest.mark.parametrize("text", FOUND)
def test_a_word_to_replace_is_found(text: str) -> None:
    assert find_words(text)


@pytest.mark.parametrize("text", PLAIN)
def test_plain_words_and_code_are_left_alone(text: str) -> None:
    assert not find_words(text)
