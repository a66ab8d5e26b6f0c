"""The options of a compilation by who takes them: whoever reads a model, gives it inputs, or lowers it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from ...mlops.policy import OffloadPolicy
from ...profiles.ml import MLCapabilities
from ...profiles.profile import default_capabilities
from ...records import dataclass
from ..importers.fixed_inputs import Values
from ..memory_scopes.scoping import Scoping
from .targets import TargetLike

Pipeline = Literal["fixed", "stock"] | Callable[..., Any]


@dataclass(frozen=True)
class InputOptions:
    """What a model is given: sizes of dimensions that it leaves open, by input, and the seed of inputs nobody gave."""

    shapes: Mapping[str, Sequence[int]]
    seed: int


@dataclass(frozen=True)
class LayerOptions:
    """In which types and layouts conv2d layers compute, except for those that are skipped."""

    recast: str | None
    layout: str | None
    skipped: Sequence[int]

    @property
    def change_any(self) -> bool:
        return self.recast is not None or self.layout is not None or bool(self.skipped)


@dataclass(frozen=True)
class ReadOptions:
    """How a source becomes a model: `inputs` are open dimensions and the seed of weights nobody gave."""

    inputs: InputOptions
    entry: str
    values: Values
    layers: LayerOptions


@dataclass(frozen=True)
class StorageOptions:
    """The type in which tensors are stored, and that of sums."""

    dtype: str
    accumulate: str


@dataclass(frozen=True)
class LowerOptions:
    """How a model becomes kernels. tuned: the folder of a schedule database."""

    target: TargetLike
    pipeline: Pipeline
    without_fix: Sequence[str]
    storage: StorageOptions
    layers: LayerOptions
    scoping: Scoping
    tuned: str | os.PathLike[str] | None
    clml_min_flops: int | None
    clml_min_operators: int

    def policy(self, ml: MLCapabilities | None) -> OffloadPolicy:
        """What of the model goes to OpenCL ML on a device, with target clml. ml: of the device; None = of the default one."""
        return OffloadPolicy(
            capabilities=ml or default_capabilities(),
            min_flops=self.clml_min_flops,
            min_operators=self.clml_min_operators,
        )
