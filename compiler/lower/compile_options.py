"""How a model becomes kernels: one set of options for the command line, pytest and Python."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, fields
from typing import Any, Literal, TypeVar

from ...base.errors import AdrenoSimError, OptionError
from ...records import dataclass
from ..artifact.model import is_compiled
from ..importers.fixed_inputs import Values
from ..memory_scopes.scoping import NO_TEXTURES, Scoping
from .known_pipeline import require_pipeline
from .option_records import InputOptions, LayerOptions, LowerOptions, ReadOptions, StorageOptions
from .targets import BUFFERS_ONLY, TargetLike, require_target, target_text

Options = TypeVar("Options", bound="CompileOptions")

ABOUT_INPUTS = ("shapes", "seed")
"""Of these, those that also say what a compiled model is given."""

OFFLOADING = ("clml_min_flops", "clml_min_operators")
"""Of these, those that are for OpenCL ML."""

SCOPING = ("rule", "weights")
"""Of these, those that are for targets with textures."""


@dataclass(frozen=True, kw_only=True)
class CompileOptions:
    """How a model is compiled; every field is a keyword of `compile_model`, `make_bundle` and `check`.

    target: "texture" (default), "buffer", "clml", "clml-texture", or what TVM makes an OpenCL target of: a tag, a dict, its JSON,
    a Target. entry: the Relax function that is run, of a module with several; "" = main, or the only one there is.
    pipeline: "fixed" (TVM's passes and the fixes, default), "stock", or Relax passes in their place: a pass, or a callable from
    module to module. without_fix: names of fixes to leave out.
    dtype: "float32" (the model unchanged) or "float16": tensors stored so, sums in `accumulate`. recast: "TYPE" or "TYPE:RESULT",
    as "float16:float32", in which conv2d layers compute (outputs are judged against the network as recast). layout: theirs,
    "NCHW4c" (what texture targets make of them), "default" (unchanged) or another, as "NHWC", "NHWC:OHWI" or "HWNC".
    skip_layers: numbers of those that stay unchanged. rule: which scope wins where the consumers of a tensor ask for several,
    "tvm" (as TVM's pass, default) or "fewest-copies" (what most ask for, copies merged). weights: where those of packed
    convolutions lie, "buffer" (default), "texture" or "relay" (textures, except for float32 constants of kernels without an
    extent of 1). tuned: a folder of `adreno-sim tune`, whose schedules go before TVM's own. clml_min_flops, clml_min_operators:
    with target clml, what a subgraph must have to be offloaded; None = a cost model decides. shapes: input name -> full shape,
    where the model leaves it open. input_values: input name -> the number that all its elements are; it is an input no more.
    seed: of weights and inputs nobody gave.
    """

    target: TargetLike = "texture"
    entry: str = ""
    pipeline: Literal["fixed", "stock"] | Callable[..., Any] = "fixed"
    without_fix: Sequence[str] = ()
    dtype: str = "float32"
    accumulate: str = "float32"
    recast: str | None = None
    layout: str | None = None
    skip_layers: Sequence[int] = ()
    rule: Literal["tvm", "fewest-copies"] = "tvm"
    weights: Literal["buffer", "texture", "relay"] = "buffer"
    tuned: str | os.PathLike[str] | None = None
    clml_min_flops: int | None = None
    clml_min_operators: int = 1
    shapes: Mapping[str, Sequence[int]] = field(default_factory=dict)
    input_values: Values = field(default_factory=dict)
    seed: int = 0

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Every option there is."""
        return tuple(item.name for item in fields(cls))

    @classmethod
    def of(cls: type[Options], keywords: Mapping[str, Any], source: Any) -> Options:
        """The keywords somebody gave, as options for `source`; None, and what is empty, count as not given.

        Raises AdrenoSimError for an unknown one, OptionError for one that says nothing about this source.
        """
        given = {name: value for name, value in keywords.items() if value is not None and value not in ((), [], {})}
        for name in keywords:
            if name not in cls.names():
                raise AdrenoSimError(f"no option {name!r}; there are: {', '.join(cls.names())}")
        options = cls(**given)
        for name in COMPILING if is_compiled(source) else ():
            if name in given:
                raise OptionError(name, "a bundle is compiled already; give the model itself")
        for name in OFFLOADING if "clml" not in target_text(options.target) else ():
            if name in given:
                raise OptionError(name, f"is for OpenCL ML: target clml or clml-texture, not {target_text(options.target)}")
        for name in SCOPING if target_text(options.target) in BUFFERS_ONLY else ():
            if name in given:
                raise OptionError(name, f"{given[name]}: {NO_TEXTURES}")
        if "accumulate" in given and options.dtype == "float32":
            raise OptionError(
                "accumulate", f"{options.accumulate}: is for dtype float16; an unchanged model says itself how it sums"
            )
        options.require_known()
        return options

    def require_known(self) -> None:
        """Raise AdrenoSimError for a name that means nothing, or a folder that is not there; imports no TVM for it."""
        require_target(self.target)
        require_pipeline(self.pipeline, self.without_fix)
        if self.tuned is not None and not os.path.isdir(self.tuned):
            raise AdrenoSimError(f"{os.fspath(self.tuned)} is not a tuning folder (it does not exist); adreno-sim tune makes one")

    @property
    def scoping(self) -> Scoping:
        """How scopes are decided. AdrenoSimError for an unknown rule or place of weights."""
        return Scoping(self.rule, self.weights)

    @property
    def inputs(self) -> InputOptions:
        """What a model is given."""
        return InputOptions(self.shapes, self.seed)

    @property
    def storage(self) -> StorageOptions:
        """How tensors are stored."""
        return StorageOptions(self.dtype, self.accumulate)

    @property
    def reading(self) -> ReadOptions:
        """How a source becomes a model."""
        return ReadOptions(self.inputs, self.entry, self.input_values, self._layers)

    @property
    def lowering(self) -> LowerOptions:
        """How a model becomes kernels. AdrenoSimError as of `scoping`."""
        offload = self.clml_min_flops, self.clml_min_operators
        chosen = self.target, self.pipeline, self.without_fix
        return LowerOptions(*chosen, self.storage, self._layers, self.scoping, self.tuned, *offload)

    @property
    def _layers(self) -> LayerOptions:
        return LayerOptions(self.recast, self.layout, self.skip_layers)


COMPILING = tuple(name for name in CompileOptions.names() if name not in ABOUT_INPUTS)
"""The options that say nothing about a model that is compiled already."""
