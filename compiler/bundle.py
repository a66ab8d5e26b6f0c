"""Compile a model into a bundle file, with golden results inside where asked for."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

from ..device import AdrenoSimError, Device, open_device
from .artifact import CompiledModel
from .check_prepare import CheckOptions, Inputs, Source, prepare


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
    CheckOptions that say how to compile. stage: brackets the stages, for progress. Errors as `check`.
    """
    given = CheckOptions(**options)
    opened = open_device(device) if device is None or isinstance(device, str) else device
    if not golden:
        from .compiling import compile_model

        if inputs is not None:
            raise AdrenoSimError("inputs are for golden results, which were not asked for (--golden)")
        with stage("compile"):
            compiled = compile_model(
                source,
                target=given.target,
                pipeline=given.pipeline,
                without_fix=given.without_fix,
                dtype=given.dtype,
                accumulate=given.accumulate,
                shapes=given.shapes,
                seed=given.seed,
                limits=opened.info.limits,
                ml=opened.info.ml,
                clml_min_flops=given.clml_min_flops,
                clml_min_operators=given.clml_min_operators,
                tuned=given.tuned,
            )
    else:
        compiled = _with_golden(source, inputs, given, opened, stage)
    compiled.save(path)
    return compiled


def _with_golden(
    source: Source,
    inputs: Inputs | None,
    options: CheckOptions,
    device: Device,
    stage: Callable[[str], AbstractContextManager[None]],
) -> CompiledModel:
    from .check_golden import LiveGolden
    from .golden_record import record

    ready = prepare(source, inputs, options, device.info, stage, lambda compiled: compiled)
    if not isinstance(ready.golden, LiveGolden):
        raise AdrenoSimError("golden results come from the model's source: a bundle can only be run")
    with stage("golden"):
        reference = ready.golden.reference
        data = record(
            ready.compiled, reference, ready.arrays, ready.origin, ready.references, ready.unchecked, device, ready.bound
        )
    return replace(ready.compiled, golden=data)
