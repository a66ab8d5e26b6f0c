"""A base class that caches an object's hash, for values that are keys of dictionaries many times."""

from __future__ import annotations

from dataclasses import fields
from typing import Any


class CachedHash:
    """Base of a frozen dataclass; the class itself says `__hash__ = CachedHash.__hash__`, as dataclasses write their own.

    Copies and pickles do not take the hash with them: that of a text differs from process to process.
    """

    def __hash__(self) -> int:
        known: int | None = self.__dict__.get("_hash")
        if known is None:
            known = hash(tuple(getattr(self, field.name) for field in fields(self)))  # type: ignore[arg-type]
            self.__dict__["_hash"] = known
        return known

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_hash"}
