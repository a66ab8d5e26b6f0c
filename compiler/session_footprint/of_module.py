"""`session_footprint`: from a module with several functions to what they take of a device's memory."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...base.errors import AdrenoSimError, OptionError, UncompiledError
from ...device.protocol import Device
from ..artifact.model import CompiledModel
from ..compile import CompileOptions
from ..importers.model import UNUSED_BUT_PUBLIC, public_functions
from ..importers.module_file import find_module
from ..plan.rules import DeviceRules
from ..tvm_bridge import read
from .cache import describe_cache
from .lengths import Lengths
from .measure import SessionFootprint, measure_session
from .weights import read_facts

if TYPE_CHECKING:
    from tvm import IRModule

PLANNERS = ("tvm-fixed", "arena")
"""Planners that are compared where none are named."""

OPTIONS = ("target", "pipeline", "without_fix", "rule", "weights")
"""The fields of CompileOptions that mean something here."""


def session_footprint(
    source: Any,
    *,
    device: str | Device | None = None,
    context: int | None = None,
    batch: int = 1,
    chunk: int | None = None,
    page_size: int = 16,
    bounds: Mapping[str, tuple[int, int]] | None = None,
    kv_cache: str | None = None,
    entries: Sequence[str] = (),
    planners: Sequence[str] = PLANNERS,
    name: str = "",
    **options: Any,
) -> SessionFootprint:
    """What the functions of a module take of a device's memory: weights, KV cache, and the plan of each function.

    source: a Relax IRModule, or a file with one (.py, FILE.py:NAME, .json of `tvm.ir.save_json`). context: positions of a
    sequence; batch: sequences at one time; chunk: most tokens of one call, None = as many as the context has; page_size:
    positions in a page. bounds: symbol -> (low, high), for what does not follow from these. kv_cache: as
    "layers=32,heads=32,kv-heads=8,dim=128,dtype=float16", where no function creates the cache. entries: the functions to plan,
    () = all. planners: compared with the plan as compiled. name: what reports call it. options: target ("buffer" unless
    given), pipeline, without_fix, rule, weights, as of `check`. Weights are counted by their shapes: none is made.

    Raises AdrenoSimError for what is missing or contradicts itself, UnsupportedError for what TVM cannot compile.
    """
    for given in options:
        if given not in OPTIONS:
            raise OptionError(given, f"means nothing for a module with several functions; there are: {', '.join(OPTIONS)}")
    lengths = Lengths(context, batch, chunk, page_size)
    module = find_module(source)
    if module is None:
        raise AdrenoSimError(f"{source}: expected a Relax IRModule, or a .py or .json file with one")
    public = public_functions(module)
    for entry in entries:
        if entry not in public:
            raise AdrenoSimError(f"no function {entry!r}; the module has {', '.join(public) or 'none'}")
    cache = None if kv_cache is None else describe_cache(kv_cache, lengths)
    rules = _rules(device)
    model = _compile(module, options, rules)
    name = name or (os.path.basename(os.fspath(source)) if isinstance(source, (str, os.PathLike)) else "module")
    model = replace(model, entries={key: params for key, params in model.entries.items() if key != UNUSED_BUT_PUBLIC})
    return measure_session(model, rules, planners, lengths, read_facts(module), bounds, cache, entries, name)


def has_entries(module: IRModule, entry: str = "") -> bool:
    """Whether a module is one for sessions: no function of several is its main, or the one that is meant takes state."""
    public = public_functions(module)
    meant = entry or ("main" if "main" in public else next(iter(public)) if len(public) == 1 else "")
    if "," in entry or not meant:
        return len(public) > 1
    return meant in public and any(_is_state(read.type_of(param)) for param in public[meant].params)


def _is_state(ty: Any) -> bool:
    return read.kind(ty).removesuffix("StructInfo").removesuffix("Type") in ("Any", "Object")


def _rules(device: str | Device | None) -> DeviceRules:
    from ...backends.open import open_device

    return DeviceRules.of_device(open_device(device) if device is None or isinstance(device, str) else device)


def _compile(module: IRModule, options: Mapping[str, Any], rules: DeviceRules) -> CompiledModel:
    from ..extract.module import extract_entries
    from ..lower.pipeline import lower
    from ..lower.targets import make_target

    given = CompileOptions.of({"target": "buffer", **options}, module)
    target = make_target(given.target, rules.limits)
    try:
        return extract_entries(lower(module, target, given.pipeline, given.without_fix, scoping=given.scoping))
    except UncompiledError as error:
        hint = "; next: --target buffer, for which language models are compiled" if "texture" in target.keys else ""
        raise UncompiledError(f"{error}{hint}") from error
