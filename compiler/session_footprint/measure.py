"""What a session takes of device memory at its worst moment: the figures behind `adreno-sim footprint` of a language model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from ...base.alignment import align_up
from ...base.errors import AdrenoSimError, UnsupportedError
from ...base.specs import TensorSpec
from ...base.version import __version__
from ...records import dataclass
from ..artifact.memory_plan import FixedTensor
from ..artifact.model import CompiledModel
from ..plan.compare import PlannerResult
from ..plan.extract import extract_bounded, extract_plan, list_constants
from ..plan.footprint import Footprint, measure
from ..plan.replan import AS_COMPILED
from ..plan.rules import DeviceRules
from ..run.kv_cache.config import CacheSizes
from .cache import cache_tensors, creators, find_caches
from .entry_model import entry_model
from .lengths import Lengths, Symbol, find_ranges
from .weights import EntryFacts, Weights, find_weights, is_weight, stated_bounds

SCHEMA = "adreno-sim/session-footprint/1"

RESIDENT = ("weight", "state", "constant")
"""Kinds of tensors that stay on the device between calls."""


@dataclass(frozen=True)
class EntryFootprint:
    """A function's plan at the upper ends of its symbols, with everything else that is on the device while it runs."""

    name: str
    footprint: Footprint
    symbols: tuple[Symbol, ...]

    @property
    def inputs(self) -> int:
        """Bytes of its tensors that come with the call."""
        assert self.footprint.plan is not None
        return sum(tensor.nbytes for tensor in self.footprint.plan.fixed if tensor.kind == "input")

    def row(self, planner: str = AS_COMPILED) -> PlannerResult:
        """The figures under a planner. AdrenoSimError if it gave no plan."""
        self.footprint.of(planner)
        return next(row for row in self.footprint.rows if row.planner == planner)


@dataclass(frozen=True)
class SessionFootprint:
    """The functions of a module, and what stays on the device between their calls.

    weights, constants, state: bytes in whole pages. lengths: as asked for. caches: the KV caches, whose pages are in `state`.
    largest: of what stays, the tensor with the most bytes. limit: of the whole device's memory; None = not known.
    """

    source: str
    rules: DeviceRules
    lengths: Lengths
    entries: tuple[EntryFootprint, ...]
    caches: tuple[CacheSizes, ...]
    weights: int
    constants: int
    state: int
    largest: FixedTensor | None

    @property
    def resident(self) -> int:
        """Bytes that stay on the device between calls."""
        return self.weights + self.constants + self.state

    @property
    def limit(self) -> int | None:
        """Bytes of the device's memory; None if it does not say."""
        return int(self.rules.limits.get("GLOBAL_MEM_SIZE") or 0) or None

    def worst(self, planner: str = AS_COMPILED) -> EntryFootprint:
        """The function during which most is on the device, under a planner."""
        return max(self.entries, key=lambda entry: entry.row(planner).peak)

    def peak(self, planner: str = AS_COMPILED) -> int:
        """The most bytes on the device at one time, in whole pages."""
        return self.worst(planner).row(planner).peak

    def planners(self) -> list[str]:
        """Those that gave a valid plan of every function, the plan as compiled first."""
        rows = [[row.planner for row in entry.footprint.planned_rows if not row.violations] for entry in self.entries]
        return [name for name in rows[0] if all(name in others for others in rows)]

    def best(self) -> str:
        """The planner with the lowest peak, the first of equals."""
        return min(self.planners(), key=self.peak)

    def obstacles(self, planner: str = AS_COMPILED) -> list[str]:
        """Why the device cannot hold it, whatever else it holds; in words, empty where it can."""
        most, found = self.rules.max_allocation, []
        if most is not None and self.largest is not None and self.largest.nbytes > most:
            known = f"{most:,}{self.rules.range_text('MAX_MEM_ALLOC_SIZE')}"
            found.append(
                f"{self.largest.kind} {self.largest.name} has {self.largest.nbytes:,} bytes, the largest allocation {known}"
            )
        for entry in self.entries:
            row = entry.row(planner)
            found += [f"{entry.name}: {text}" for text in row.violations[:1]]
            if not row.fits:
                found.append(f"{entry.name}: {row.note}")
        if self.limit is not None and self.peak(planner) > self.limit:
            known = f"{self.limit:,}{self.rules.range_text('GLOBAL_MEM_SIZE')}"
            found.append(f"{self.peak(planner):,} bytes at the worst moment, and the device has {known}")
        return found

    def as_json(self) -> dict[str, Any]:
        """JSON-ready data of schema adreno-sim/session-footprint/1."""
        return {
            "schema": SCHEMA,
            "version": __version__,
            "source": self.source,
            "rule": self.rules.text,
            "lengths": asdict(self.lengths),
            "weights": self.weights,
            "constants": self.constants,
            "state": self.state,
            "caches": [_cache_json(cache) for cache in self.caches],
            "peaks": {name: {"entry": self.worst(name).name, "bytes": self.peak(name)} for name in self.planners()},
            "obstacles": self.obstacles(),
            "entries": [
                {"name": entry.name, "symbols": [asdict(symbol) for symbol in entry.symbols], "inputs": entry.inputs}
                | {"footprint": entry.footprint.as_json()}
                for entry in self.entries
            ],
        }


def _cache_json(cache: CacheSizes) -> dict[str, Any]:
    found = {key: getattr(cache, key) for key in ("sequences", "chunk", "page_size", "pages", "sliding", "heads", "kv_heads")}
    return found | {"dim": cache.dim, "dtype": cache.dtype, "layers": len(cache.layers)}


def measure_session(
    model: CompiledModel,
    rules: DeviceRules,
    planners: Sequence[str],
    lengths: Lengths,
    facts: Mapping[str, EntryFacts],
    bounds: Mapping[str, tuple[int, int]] | None = None,
    cache: CacheSizes | None = None,
    only: Sequence[str] = (),
    source: str = "",
) -> SessionFootprint:
    """Plans of the entries of `model`, a model for sessions; of those in `only` where some are named.

    facts: what the module says of each entry. bounds: of symbols, before what `lengths` says of them. cache: where no function
    creates one. Weights are counted by their shapes alone. Raises AdrenoSimError for lengths that are not known, UnsupportedError
    for a function that has no plan.
    """
    caches = find_caches(model, lengths, cache)
    chosen = _choose(model, only)
    ranges = find_ranges({name: model.entries[name] for name in chosen}, lengths, bounds or {}, stated_bounds(facts, chosen))
    weights = find_weights(model.entries, facts)
    kept = [*weights.values(), *_constants(model, chosen[0]), *cache_tensors(caches)]
    entries = tuple(_measure_entry(model, name, rules, planners, ranges, weights, kept, source) for name in chosen)
    nbytes = {kind: sum(_in_pages(tensor, rules) for tensor in kept if tensor.kind == kind) for kind in RESIDENT}
    largest = max(kept, key=lambda tensor: tensor.nbytes, default=None)
    return SessionFootprint(
        source, rules, lengths, entries, caches, nbytes["weight"], nbytes["constant"], nbytes["state"], largest
    )


def _choose(model: CompiledModel, only: Sequence[str]) -> list[str]:
    """The entries to plan: those named, else all but those that create a cache and nothing else that stays."""
    made = creators(model)
    found = list(only) or [name for name in model.entries if name not in made]
    if not found:
        raise AdrenoSimError(f"the module has no function to plan besides {', '.join(made)}")
    return found


def _measure_entry(
    model: CompiledModel,
    name: str,
    rules: DeviceRules,
    planners: Sequence[str],
    ranges: Mapping[str, Symbol],
    weights: Weights,
    kept: Sequence[FixedTensor],
    source: str,
) -> EntryFootprint:
    alone = entry_model(model, name)
    symbols = tuple(ranges[dim] for dim in dict.fromkeys(d for info in alone.inputs for d in info.shape if isinstance(d, str)))
    bounds = {symbol.name: (symbol.low, symbol.high) for symbol in symbols}
    try:
        plan = extract_bounded(alone, bounds) if symbols else extract_plan(alone)
    except (AdrenoSimError, UnsupportedError) as error:
        raise type(error)(f"{name}: {error}; the other functions: --entry {','.join(set(model.entries) - {name})}") from error
    own = [
        tensor for tensor in plan.fixed if tensor.kind == "output" or (tensor.kind == "input" and not is_weight(tensor, weights))
    ]
    plan = replace(plan, function=name, fixed=(*own, *kept))
    return EntryFootprint(name, measure(plan, rules, planners, f"{source}: {name}"), symbols)


def _constants(model: CompiledModel, entry: str) -> list[FixedTensor]:
    """The constants of all functions, which TVM's runtime has on the device as long as the model."""
    alone = entry_model(model, entry)
    return [replace(tensor, first=0) for tensor in list_constants(alone)]


def _in_pages(tensor: FixedTensor, rules: DeviceRules) -> int:
    spec = TensorSpec(tensor.shape, tensor.dtype, tensor.scope)
    return align_up(max(rules.view_size(spec), 1), rules.page)
