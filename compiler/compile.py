"""From any model source to a CompiledModel: the one chain that checks, bundles, footprints and tests go through."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..base.errors import AdrenoSimError, OptionError, UncompiledError
from ..profiles.ml import MLCapabilities
from .artifact.model import CompiledModel, as_compiled
from .importers.load import load_model
from .importers.model import Model
from .lower.compile_options import ABOUT_INPUTS, CompileOptions
from .lower.option_records import LowerOptions, ReadOptions

if TYPE_CHECKING:
    from tvm import IRModule

    from .lower.pipeline import Lowered


def compile_model(
    source: Any, *, limits: Mapping[str, Any] | None = None, ml: MLCapabilities | None = None, **options: Any
) -> CompiledModel:
    """Compile `source` for devices of these limits; a bundle or CompiledModel comes back unchanged, and takes no options.

    ml: OpenCL ML of these devices, for target clml; None = that of the default device. options: the fields of CompileOptions.
    Raises AdrenoSimError for bad input, UnsupportedError for what TVM cannot compile.
    """
    given = CompileOptions.of(options, source)
    compiled = as_compiled(source)
    if compiled is not None:
        for name in ABOUT_INPUTS:
            if options.get(name):
                raise OptionError(name, "a bundle is compiled already; give the model itself")
        if compiled.entries:
            raise AdrenoSimError("this is a bundle of a session, which has several functions: adreno-sim check runs its calls")
        return compiled
    model, lowering = read_model(source, given.reading), given.lowering
    with naming_operator(model, lowering, limits, ml):
        return extract_model(lower_model(model, lowering, limits, ml), model)


def read_model(source: Any, options: ReadOptions) -> Model:
    """The model with the shapes and weights that the options say, and its layers in the types and layouts that they say.

    One that is recast has no runtime of its own any more that could judge it. Errors as `load_model` and `change_layers`.
    """
    model = load_model(source, options.inputs.shapes or None, options.inputs.seed, options.entry, options.values)
    layers = options.layers
    if not layers.change_any:
        return model
    from .layers.chosen import change_layers

    module = change_layers(model.module, layers.recast, layers.layout, layers.skipped)
    return replace(model, module=module) if layers.recast is None else replace(model, module=module, onnx=None, torch=None)


@contextmanager
def naming_operator(
    model: Model, options: LowerOptions, limits: Mapping[str, Any] | None, ml: MLCapabilities | None
) -> Iterator[None]:
    """Where the block does not compile `model`, the error also names the operator that it begins with, and what to do next."""

    def attempt(module: IRModule, changed: LowerOptions = options) -> None:
        part = replace(model, module=module)
        extract_model(lower_model(part, changed, limits, ml), replace(part, inputs=()))

    try:
        yield
    except UncompiledError as error:
        from .reduce_failure.beginnings import beginnings_of
        from .reduce_failure.search import compiles, find_culprit

        culprit = find_culprit(beginnings_of(model), attempt)
        if culprit is None:
            raise
        others: dict[str, dict[str, Any]] = {
            "--pipeline fixed": {"pipeline": "fixed", "without_fix": ()},
            "--target buffer": {"target": "buffer"},
        }
        works = (
            flag
            for flag, changes in others.items()
            if (changed := replace(options, **changes)) != options
            and compiles(culprit.module, lambda part: attempt(part, changed))
        )
        first = next(works, None)  # each takes a compilation
        after = f"{first}, where it compiles" if first else "express it by other operators, or check the model without it"
        raise UncompiledError(f"{error}; it begins with {culprit.name}; next: {after}") from error


def extract_model(lowered: Lowered, model: Model) -> CompiledModel:
    """The compiled model of a lowered one, with the ranges of its integer inputs. Errors as `extract`."""
    from .extract.module import extract
    from .importers.inputs import integer_bounds

    compiled = extract(lowered, model.name)
    bounds = integer_bounds(model)
    inputs = tuple(replace(info, bounds=bounds.get(position)) for position, info in enumerate(compiled.inputs))
    return replace(compiled, inputs=inputs)


def lower_model(
    model: Model,
    options: LowerOptions,
    limits: Mapping[str, Any] | None,
    ml: MLCapabilities | None,
    begin: Callable[[IRModule], object] | None = None,
) -> Lowered:
    """The model lowered as the options say, for devices of these limits and this OpenCL ML. begin: as of `lower`. Errors as
    `compile_model`."""
    from .importers.fp16_storage import with_storage
    from .layers.chosen import layout_scope
    from .lower.pipeline import lower
    from .lower.targets import make_target
    from .schedule_database.apply import TunedSchedules

    storage, layers = options.storage, options.layers
    module = with_storage(model.module, storage.dtype, storage.accumulate)
    tuned = None if options.tuned is None else TunedSchedules(options.tuned)
    target = make_target(options.target, limits)
    with layout_scope(module, layers.recast, layers.layout, layers.skipped, "texture" in target.keys):
        return lower(
            module, target, options.pipeline, options.without_fix, None, options.policy(ml), tuned, None, options.scoping, begin
        )
