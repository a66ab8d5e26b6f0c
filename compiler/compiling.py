"""From any model source to a CompiledModel in one call, for those who need no references."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..mlops.capabilities import MLCapabilities
from ..mlops.policy import OffloadPolicy
from ..profiles import default_capabilities
from .artifact import CompiledModel

if TYPE_CHECKING:
    from tvm.target import Target


def compile_model(
    source: Any,
    *,
    target: str | Target = "texture",
    pipeline: Literal["fixed", "stock"] = "fixed",
    without_fix: Sequence[str] = (),
    dtype: str = "float32",
    accumulate: str = "float32",
    shapes: Mapping[str, Sequence[int]] | None = None,
    seed: int = 0,
    limits: Mapping[str, Any] | None = None,
    ml: MLCapabilities | None = None,
    clml_min_flops: int | None = None,
    clml_min_operators: int = 1,
    tuned: str | os.PathLike[str] | None = None,
) -> CompiledModel:
    """Compile `source` for devices of these limits; a bundle or CompiledModel comes back as it is. Keywords as of `check`.

    ml: OpenCL ML of these devices, for target clml; None = that of the default device.
    tuned: a folder of `tuning.search.tune`, whose schedules go before TVM's own.
    Raises AdrenoSimError for bad input, UnsupportedError for what TVM cannot compile.
    """
    if isinstance(source, CompiledModel):
        return source
    if isinstance(source, (str, os.PathLike)) and Path(source).suffix == ".asim":
        return CompiledModel.load(source)
    from .extract import extract
    from .half_storage import with_storage
    from .importers import load_model
    from .pipeline import lower
    from .targets import make_target
    from .tuning.apply import Tuned

    model = load_model(source, shapes or None, seed)
    module = with_storage(model.module, dtype, accumulate)
    offload = OffloadPolicy(capabilities=ml or default_capabilities(), min_flops=clml_min_flops, min_operators=clml_min_operators)
    schedules = None if tuned is None else Tuned(tuned)
    made = make_target(target, limits)
    return extract(lower(module, made, pipeline, tuple(without_fix), None, offload, schedules), model.name)
