"""The tables of a TOML file, each parsed when it is asked for: a device is made of few of them."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_HEAD = re.compile(r"^\[{1,2}(?P<kind>[\w-]+)\.(?:\"(?P<quoted>[^\"\n]+)\"|(?P<bare>[\w-]+))[.\]]", re.MULTILINE)


class LazyTables(Mapping[str, Any]):
    """Tables of one kind by name, `[KIND.NAME]` with the tables in it, in the order of the file."""

    def __init__(self, kind: str, texts: Mapping[str, str]):
        self._kind, self._texts = kind, texts
        self._parsed: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._parsed:
            self._parsed[name] = tomllib.loads(self._texts[name])[self._kind][name]
        return self._parsed[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)


def read_lazily(path: Path) -> dict[str, LazyTables]:
    """The tables of a file of this package, by kind. Its lines begin with a bracket only in heads of tables."""
    text = path.read_text(encoding="utf-8")
    heads = list(_HEAD.finditer(text))
    texts: dict[str, dict[str, str]] = {}
    for head, end in zip(heads, [*(head.start() for head in heads[1:]), len(text)], strict=True):
        named = texts.setdefault(head["kind"], {})
        name = head["quoted"] or head["bare"]
        named[name] = named.get(name, "") + text[head.start() : end]
    return {kind: LazyTables(kind, named) for kind, named in texts.items()}
