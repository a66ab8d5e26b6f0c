"""Hostile text for every name of every input, dataclasses that hold it in every field, and what an output may make of it."""

from __future__ import annotations

import collections.abc
import dataclasses
import datetime
import enum
import json
import re
import sys
import types
import typing
import xml.etree.ElementTree
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

RAN = "document.documentElement.dataset.ran = 'yes'"
"""What no page may do: `data-ran` shows it did."""

TEXTS = {
    "terminal": "\x1b[31mred\x1b]0;title\x07\x1b[2J\x08\x7f\x9b31m",
    "command": "::error file=a::b",
    "indented command": " \t::stop-commands::x",
    "runner": "##[error]x ##vso[task.setvariable variable=a]b ##teamcity[x]",
    "lines": "a\nok: no errors\n::error::x\r::add-mask::y\r\n  ::set-output::z\x85::notice::q\u2028::debug::w\x0c::x\v::y",
    "group": "section_start:1:a\r\x1b[0K",
    "template": "@DATA@ @SCRIPT@ @TITLE@ @ADVICE@ {0} %s ${x} ${{ x }}",
    "element": f'<script>{RAN}</script><img src=x onerror="{RAN}"><svg onload="{RAN}"><a href="javascript:{RAN}">x</a>',
    "attribute": f'" onmouseover="{RAN}" autofocus onfocus="{RAN}" \' onclick=\'{RAN}',
    "end of script": f"</script><script>{RAN}</script>",
    "comment": f"<!--<script>--></title></style></pre></svg><script>{RAN}</script>]]>",
    "markdown": "| a | `b` | **c** [d](javascript:e) ![f](g) <b> \\",
    "markup": "[red]a[/red] [/] :warning: [link=x]b[/link]",
    "Latin-1": "caf\udce9 \udc80\udcff",
    "surrogates": "\ud800 \udbff\udfff \udfff",
    "zero": "a\0b",
    "direction": "\u202etxet\u202c \u2066a\u2069 \u200b\ufeff\u00ad\U000e0041",
}
TEXTS["all"] = " ".join(TEXTS.values())
LONG = "x|::" * 250_000
"""1 MB."""

QUICK = ("all", "Latin-1", "lines", "surrogates")
PARAMS = [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in TEXTS]
"""Names of texts, for tests of which each takes a second."""


def file_name(text: str) -> str:
    """As much of a text as the name of a file holds: Linux takes every byte but zero and the slash."""
    kept = "".join(
        char for char in text.replace("/", "\u2044").replace("\0", "") if not "\ud800" <= char <= "\udfff" or is_byte(char)
    )
    return "".join(kept).encode("utf-8", "surrogateescape")[:180].decode("utf-8", "surrogateescape")


def is_byte(char: str) -> bool:
    return "\udc80" <= char <= "\udcff"


def hold(kind: Any, text: str, /, **given: Any) -> Any:
    """An object of this type, a dataclass above all, which holds `text` wherever it may hold text. given: fields of its own."""
    if kind is np.ndarray:
        return np.zeros(1, "f4")
    if kind is range:
        return range(1)
    if kind is str:
        return text
    if kind is Any or kind is object:
        return {text: text, "list": [text]}
    if kind in (int, float, bool):
        return kind(1)
    if kind in (type(None), None):
        return None
    if kind is datetime.date:
        return datetime.date(2030, 1, 2)
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return next(iter(kind))
    if dataclasses.is_dataclass(kind):
        hints = _hints_of(kind)
        fields = {field.name: hints[field.name] for field in dataclasses.fields(kind) if field.init}
        return kind(**{name: given[name] if name in given else hold(hint, text) for name, hint in fields.items()})
    return _hold_generic(typing.get_origin(kind), typing.get_args(kind), kind, text)


def _hints_of(kind: type) -> dict[str, Any]:
    """The types of a dataclass's fields; names that its module imports for type checkers alone are looked for in all modules."""
    known: dict[str, Any] = {}
    while True:
        try:
            return typing.get_type_hints(kind, localns=known)
        except NameError as error:
            modules = [module for name, module in sys.modules.items() if name.startswith("adreno_sim") and module is not None]
            known[error.name] = next(vars(module)[error.name] for module in modules if error.name in vars(module))


def _hold_generic(origin: Any, parts: tuple[Any, ...], kind: Any, text: str) -> Any:
    if origin in (typing.Union, types.UnionType):
        return hold(next(part for part in parts if part is not type(None)), text)
    if origin is typing.Literal:
        return parts[0]
    if origin is tuple:
        return tuple(hold(part, text) for part in parts if part is not Ellipsis)
    if origin in (list, collections.abc.Sequence, collections.abc.Iterable):
        return [hold(parts[0], text)]
    if origin in (dict, collections.abc.Mapping):
        return {hold(parts[0], text): hold(parts[1], text)}
    raise TypeError(f"no text is put into {kind}")


_COMMAND = re.compile(r"^\s*::|##[A-Za-z]*\[", re.MULTILINE)


def check_printed(text: str) -> None:
    """What is printed holds no control character, nothing that UTF-8 cannot hold, and no line that commands a runner."""
    text.encode()
    odd = {char for char in text if not char.isprintable()} - {"\n", "\t"}
    assert not odd, odd
    assert not _COMMAND.search(text), _COMMAND.search(text)


def check_json(text: str) -> Any:
    """JSON for strict readers, that may be printed. Returns what it says."""
    check_printed(text)
    data = json.loads(text, parse_constant=_refuse)
    json.dumps(data, ensure_ascii=False).encode()  # no lone surrogates behind its escapes
    return data


def _refuse(word: str) -> None:
    raise ValueError(word)


def check_svg(text: str) -> None:
    """XML whose elements are this project's."""
    check_characters(text)
    tags = {element.tag.rpartition("}")[2] for element in xml.etree.ElementTree.fromstring(text).iter()}
    assert tags <= {"svg", "title", "rect", "polyline", "text", "style", "defs", "pattern", "line", "g"}, tags


def check_characters(text: str) -> None:
    """A file for people: UTF-8, without control characters."""
    text.encode()
    assert not {char for char in text if not char.isprintable()} - {"\n", "\t"}


def check_markdown(text: str) -> None:
    """No element, and no row of a table with more cells than its head."""
    check_characters(text)
    assert "<script" not in text
    assert "<img" not in text
    cells = 0
    for line in text.split("\n"):
        bars = len(re.findall(r"(?<!\\)\|", re.sub(r"\\\\", "", line)))
        assert not line.startswith("|") or not cells or bars == cells, line[:200]
        cells = bars if line.startswith("|") else 0


class Page(HTMLParser):
    """A page whose elements nest; its policy, attributes and scripts."""

    _VOID = ("meta", "img", "br")

    def __init__(self, text: str):
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.scripts, self.policy = 0, ""
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.attributes += attributes
        given = dict(attributes)
        self.policy = given.get("content") or "" if given.get("http-equiv") == "Content-Security-Policy" else self.policy
        self.scripts += tag == "script" and given.get("type") != "application/json"
        if tag not in self._VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.attributes += attributes

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def check_page(text: str) -> None:
    """A page that runs one script, its own, and allows no other."""
    check_characters(text)
    page = Page(text)
    names = {name for name, _ in page.attributes}
    assert page.scripts == 1
    assert not {name for name in names if name.startswith("on")}
    assert not names & {"src", "href", "style"}
    assert page.policy.startswith("default-src 'none'; ")
    assert "unsafe" not in page.policy
    assert "script-src 'sha256-" in page.policy


def check_outputs() -> list[str]:
    """Check the files out.* of this folder by their kinds; returns their names."""
    checks = {".json": check_json, ".sarif": check_json, ".svg": check_svg, ".md": check_markdown}
    files = sorted(Path().glob("out.*"))
    for file in files:
        text = file.read_text(encoding="utf-8")
        check_page(text) if file.suffix == ".html" else checks[file.suffix](text)
    return [file.name for file in files]
