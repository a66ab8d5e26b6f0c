"""From any model source to a CompiledModel: the one chain that checks, bundles, footprints and tests go through."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..base.errors import OptionError
from ..profiles.ml import MLCapabilities
from .artifact.model import CompiledModel, as_compiled
from .importers.load import Model, load_model
from .lower.compile_options import ABOUT_INPUTS, CompileOptions

if TYPE_CHECKING:
    from .lower.pipeline import Lowered


def compile_model(
    source: Any, *, limits: Mapping[str, Any] | None = None, ml: MLCapabilities | None = None, **options: Any
) -> CompiledModel:
    """Compile `source` for devices of these limits; a bundle or CompiledModel comes back as it is, and takes no options.

    ml: OpenCL ML of these devices, for target clml; None = that of the default device. options: the fields of CompileOptions.
    Raises AdrenoSimError for bad input, UnsupportedError for what TVM cannot compile.
    """
    given = CompileOptions.of(options, source)
    compiled = as_compiled(source)
    if compiled is not None:
        for name in ABOUT_INPUTS:
            if options.get(name):
                raise OptionError(name, "a bundle is compiled already; give the model itself")
        return compiled
    model = read_model(source, given)
    return extract_model(lower_model(model, given, limits, ml), model)


def read_model(source: Any, options: CompileOptions) -> Model:
    """The model as it is, with the shapes and weights that the options say. Errors as `load_model`."""
    return load_model(source, options.shapes or None, options.seed)


def extract_model(lowered: Lowered, model: Model) -> CompiledModel:
    """The compiled model of a lowered one, with the ranges of its integer inputs. Errors as `extract`."""
    from .extract.module import extract
    from .importers.inputs import integer_bounds

    compiled = extract(lowered, model.name)
    bounds = integer_bounds(model)
    inputs = tuple(replace(info, bounds=bounds.get(position)) for position, info in enumerate(compiled.inputs))
    return replace(compiled, inputs=inputs)


def lower_model(model: Model, options: CompileOptions, limits: Mapping[str, Any] | None, ml: MLCapabilities | None) -> Lowered:
    """The model lowered as the options say, for devices of these limits and this OpenCL ML. Errors as `compile_model`."""
    from .importers.fp16_storage import with_storage
    from .lower.pipeline import lower
    from .lower.targets import make_target
    from .tuned.apply import TunedSchedules

    module = with_storage(model.module, options.dtype, options.accumulate)
    tuned = None if options.tuned is None else TunedSchedules(options.tuned)
    target = make_target(options.target, limits)
    return lower(module, target, options.pipeline, options.without_fix, None, options.policy(ml), tuned)
