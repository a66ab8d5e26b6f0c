"""How long and how many: what the symbols in the entries of a module may be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...base.errors import AdrenoSimError
from ...records import dataclass
from ..artifact.interface import EntryParam, StateInfo
from ..artifact.memory_plan import SymbolRange
from .entry_model import tensors_of

Entries = Mapping[str, Sequence[EntryParam]]


@dataclass(frozen=True)
class Lengths:
    """context: positions of one sequence, None if nobody said. batch: sequences at one time. chunk: most tokens of one call;
    None: as many as the context has. page_size: positions in a page of a KV cache."""

    context: int | None = None
    batch: int = 1
    chunk: int | None = None
    page_size: int = 16

    def __post_init__(self) -> None:
        for name in ("context", "batch", "chunk", "page_size"):
            value = getattr(self, name)
            if value is not None and not 1 <= value < 2**31:
                raise AdrenoSimError(f"{name.replace('_', ' ')} {value}: expected 1 to 2^31 - 1")
        if self.context is not None and self.chunk is not None and self.chunk > self.context * self.batch:
            raise AdrenoSimError(
                f"chunk {self.chunk}: expected at most the {self.context * self.batch} positions of all sequences together"
            )

    @property
    def tokens(self) -> int | None:
        """Most tokens of one call."""
        return self.context if self.chunk is None else self.chunk


@dataclass(frozen=True)
class Symbol(SymbolRange):
    """A symbol of the module. source: what its range follows from, in words."""

    source: str = ""


def find_ranges(
    entries: Entries,
    lengths: Lengths,
    given: Mapping[str, tuple[int, int]],
    stated: Mapping[str, int],
) -> dict[str, Symbol]:
    """The range of every symbol that the entries have.

    given: by the user, who goes first. Then, of the functions that take a cache (of all where none does): a symbol that is
    only ever the first extent of tensors counts sequences, any other counts tokens. stated: upper bounds that the module itself
    states, for what is left. Raises AdrenoSimError for a symbol without bounds, naming where it is.
    """
    places = _places(entries)
    about = {name: params for name, params in entries.items() if any(isinstance(param, StateInfo) for param in params)}
    told = _places(about or entries)
    for name in given:
        if name not in places:
            raise AdrenoSimError(f"bounds for {name!r}: the module's symbols are {', '.join(places) or 'none'}")
    return {name: _range(name, places[name], told.get(name, {}), lengths, given, stated) for name in places}


def _range(
    name: str,
    places: Mapping[str, int],
    told: Mapping[str, int],
    lengths: Lengths,
    given: Mapping[str, tuple[int, int]],
    stated: Mapping[str, int],
) -> Symbol:
    if name in given:
        low, high = given[name]
        if not 1 <= low <= high < 2**31:
            raise AdrenoSimError(f"bounds {low} to {high} for {name!r}: expected 1 <= low <= high < 2^31")
        return Symbol(name, *given[name], "as given")
    if told and name.isidentifier() and not any(told.values()):
        return Symbol(name, 1, lengths.batch, "sequences")
    if told and name.isidentifier() and lengths.tokens is not None:
        return Symbol(name, 1, lengths.tokens, "tokens")
    if name in stated:
        return Symbol(name, 1, stated[name], "as the module states")
    length = bool(told) and name.isidentifier()
    what = "give --context, or " if length else ""
    raise AdrenoSimError(f"no bounds for {name!r}, an extent of {next(iter(places))}: {what}give --bound {name}=LOW:HIGH")


def _places(entries: Entries) -> dict[str, dict[str, int]]:
    """Symbol -> where it is, in words, and the axis."""
    found: dict[str, dict[str, int]] = {}
    for entry, params in entries.items():
        for tensor in tensors_of(params):
            for axis, dim in enumerate(tensor.shape):
                if isinstance(dim, str):
                    where = found.setdefault(dim, {})
                    key = f"{tensor.name} [{', '.join(map(str, tensor.shape))}] of {entry}"
                    where[key] = max(axis, where.get(key, 0))
    return found
