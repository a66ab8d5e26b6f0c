"""TOML tables read key by key: each wrong, missing or unknown entry is one line naming file, table and key."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from .bounded_read import read_text
from .errors import AdrenoSimError
from .text.spelling import spell_line

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MISSING: Any = object()
"""Default of a key that must be there."""

LARGEST = 1 << 63
"""Whole numbers stay below it: sizes and counts fit 64 bits."""

_SHOWN = 60
_MISSPELLED = 0.88
"""How alike a key and a missing one are, of 1, so that the error names it: global_sise is, local_size is not."""


def load_toml(path: Path) -> dict[str, Any]:
    """The TOML file at `path`. Raises AdrenoSimError if it cannot be read or is not TOML."""
    try:
        return tomllib.loads(read_text(path))
    except OSError as error:
        raise AdrenoSimError(f"{path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise AdrenoSimError(f"{path}: not a TOML file: not UTF-8 text") from None
    except ValueError as error:  # TOMLDecodeError, and Python's for a number of thousands of digits
        raise AdrenoSimError(f"{path}: not a TOML file: {error}") from None
    except RecursionError:
        raise AdrenoSimError(f"{path}: not a TOML file: nested too deeply") from None


class EntryError(AdrenoSimError):
    """An entry of a table that is wrong or missing. entry: the keys and positions in arrays that lead to it."""

    def __init__(self, message: str, entry: tuple[str | int, ...]):
        super().__init__(message)
        self.entry = entry


class Table:
    """One table of a file. Every key that a caller reads is known; `finish` rejects the others.

    `name` is the table's name in errors, "" for the file itself. evaluate: what computes a number that is written as text, in
    this table and those below it, and raises ValueError; None if numbers are numbers. entry: what leads to the table in its file,
    as of EntryError.
    """

    def __init__(
        self,
        data: Mapping[str, Any],
        file: Path | str,
        name: str = "",
        evaluate: Callable[[str], int] | None = None,
        entry: tuple[str | int, ...] = (),
    ):
        self._data, self.file, self.name, self._evaluate, self._entry = data, file, name, evaluate, entry
        self._asked: set[str] = set()

    def __contains__(self, key: str) -> bool:
        return key in self._data

    def error(self, key: str, message: str) -> EntryError:
        where = [str(self.file), self.name, key]
        return EntryError(spell_line(": ".join(part for part in where if part) + f": {message}"), (*self._entry, key))

    def fail_expected(self, key: str, what: str, computed: object = None) -> NoReturn:
        """Raise the error of an entry that is no `what`. computed: what its expressions come to, None if it has none."""
        written = self._data[key]
        comes_to = "" if computed is None or computed is written or computed == written else f", which is {short_repr(computed)}"
        raise self.error(key, f"expected {what}, got {short_repr(written)}{comes_to}")

    def get(self, key: str, default: Any, what: str) -> Any:
        """The value as it is; `what` describes it where it is missing."""
        self._asked.add(key)
        if key in self._data:
            return self._data[key]
        if default is MISSING:
            close = difflib.get_close_matches(
                key, [name for name in self._data if name not in self._asked], n=1, cutoff=_MISSPELLED
            )
            hint = f"; there is {close[0][:_SHOWN]}" if close else ""
            raise self.error(key, f"missing: expected {what}{hint}")
        return default

    def compute(self, key: str, default: Any, what: str) -> Any:
        """The value, with each text in it, or in its lists, computed as an expression where this table has some."""
        return self._computed(key, self.get(key, default, what))

    def _computed(self, key: str, value: Any) -> Any:
        if isinstance(value, list) and self._evaluate is not None:
            return [self._computed(key, item) for item in value]
        if not isinstance(value, str) or self._evaluate is None:
            return value
        try:
            return self._evaluate(value)
        except ValueError as error:
            raise self.error(key, f"{short_repr(value)}: {error}") from None

    def text(self, key: str, default: Any = MISSING, choices: Sequence[str] = ()) -> Any:
        """A string, one of `choices` where there are any."""
        what = f"one of {', '.join(choices)}" if choices else "text"
        value = self.get(key, default, what)
        if value is not default and isinstance(value, str) and "\0" in value:
            self.fail_expected(key, f"{what} without a zero byte")
        if value is not default and (not isinstance(value, str) or (choices and value not in choices)):
            close = difflib.get_close_matches(str(value), choices, n=1)
            self.fail_expected(key, what + (f" (did you mean {close[0]}?)" if close and isinstance(value, str) else ""))
        return value

    def whole(self, key: str, default: Any = MISSING, least: int = 0) -> Any:
        """A whole number of at least `least`."""
        what = f"a whole number of {least} or more"
        value = self.compute(key, default, what)
        if value is not default and not (is_whole(value) and least <= value < LARGEST):
            self.fail_expected(key, what, value)
        return value

    def number(self, key: str, default: Any = MISSING, least: float | None = None) -> Any:
        """A number, infinities and NaN included unless there is a least."""
        what = "a number" if least is None else f"a number of {least:g} or more"
        value = self.compute(key, default, what)
        if value is not default and (not is_number(value) or (least is not None and not value >= least)):
            self.fail_expected(key, what, value)
        return value

    def flag(self, key: str, default: Any = MISSING) -> Any:
        value = self.get(key, default, "true or false")
        if value is not default and not isinstance(value, bool):
            self.fail_expected(key, "true or false")
        return value

    def wholes(self, key: str, default: Any = MISSING, least: int = 0, lengths: Sequence[int] = (1, 2, 3)) -> Any:
        """A list of whole numbers, of one of `lengths`."""
        what = f"a list of {lengths[0]} to {lengths[-1]} whole numbers, each {least} or more"
        value = self.compute(key, default, what)
        if value is not default:
            fits = isinstance(value, list) and len(value) in lengths and all(is_whole(v) and least <= v < LARGEST for v in value)
            if not fits:
                self.fail_expected(key, what, value)
            value = tuple(value)
        return value

    def table(self, key: str, name: str = "") -> Table:
        """A sub-table, empty where there is none."""
        value = self.get(key, {}, "a table")
        if not isinstance(value, dict):
            self.fail_expected(key, "a table")
        return Table(value, self.file, name or f"[{self._prefix()}{key}]", self._evaluate, (*self._entry, key))

    def tables(self, key: str) -> list[Table]:
        """The tables of an array of tables, called `[[key]] N`, from 1; none where the key is missing."""
        value = self.get(key, [], "an array of tables")
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            self.fail_expected(key, f"tables written [[{self._prefix()}{key}]]")
        names = [f"[[{self._prefix()}{key}]] {n}" for n in range(1, len(value) + 1)]
        entries = [(*self._entry, key, position) for position in range(len(value))]
        return [Table(item, self.file, name, self._evaluate, at) for item, name, at in zip(value, names, entries, strict=True)]

    def below(self, key: str, data: Mapping[str, Any]) -> Table:
        """The inline table `data` of an entry."""
        return Table(data, self.file, f"{self.name}: {key}".strip(": "), self._evaluate, (*self._entry, key))

    def names(self) -> list[str]:
        return list(self._data)

    def finish(self) -> None:
        """Raise AdrenoSimError for the first key that no caller has read."""
        for key in self._data:
            if key not in self._asked:
                close = difflib.get_close_matches(key, self._asked, n=1)
                hint = f" (did you mean {close[0]}?)" if close else ""
                raise self.error(key[:_SHOWN], f"no such key{hint}; there are: {', '.join(sorted(self._asked))}")

    def _prefix(self) -> str:
        return self.name.strip("[]") + "." if self.name.startswith("[") and not self.name.startswith("[[") else ""


def is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def short_repr(value: object) -> str:
    """A value as short text for an error."""
    text = repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
