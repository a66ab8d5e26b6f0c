"""Compiles a model into a bundle file, on request with golden results inside."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

from ...backends.open import open_device
from ...base.errors import AdrenoSimError, OptionError
from ...device.protocol import Device
from ..artifact.model import CompiledModel, is_compiled
from ..compile import compile_model
from ..lower.compile_options import CompileOptions
from .prepare import Inputs, Source, prepare


def make_bundle(
    source: Source,
    path: str | os.PathLike[str],
    *,
    golden: bool = False,
    inputs: Inputs | None = None,
    device: str | Device | None = None,
    stage: Callable[[str], AbstractContextManager[None]] = lambda name: nullcontext(),
    **options: Any,
) -> CompiledModel:
    """Compile `source` for a device of `device`'s limits and save it as a bundle at `path`; the model.

    golden: also record what every call of one run on `inputs` (None = seeded) computes, by TVM llvm, and the whole model by
    every reference there is. The bundle is then checked kernel by kernel where TVM is not installed. options: the fields of
    CompileOptions. stage: brackets the stages, for progress. Errors as `check`.
    """
    if is_compiled(source):
        raise AdrenoSimError("a bundle is made from the model's source, and this is one already")
    if inputs is not None and not golden:
        raise OptionError("inputs", "is for golden results, which were not asked for (--golden)")
    opened = open_device(device) if device is None or isinstance(device, str) else device
    if golden:
        compiled = _with_golden(source, inputs, CompileOptions.of(options, source), opened, stage)
    else:
        with stage("compile"):
            compiled = compile_model(source, limits=opened.info.limits, ml=opened.info.ml, **options)
    compiled.save(path)
    return compiled


def _with_golden(
    source: Source,
    inputs: Inputs | None,
    options: CompileOptions,
    device: Device,
    stage: Callable[[str], AbstractContextManager[None]],
) -> CompiledModel:
    from .golden import LiveGolden
    from .golden_record import record

    ready = prepare(source, inputs, options, device.info, stage, lambda compiled: compiled)
    assert isinstance(ready.golden, LiveGolden)  # its source is not a bundle
    with stage("golden"):
        reference = ready.golden.reference
        data = record(ready.compiled, reference, ready.arrays, ready.origin, ready.references, ready.unchecked, device)
    return replace(ready.compiled, golden=data)
