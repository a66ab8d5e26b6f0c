"""The inputs that a model is judged on: those that were given, else seeded ones that say something."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ....base.errors import AdrenoSimError
from ...importers.inputs import Arrays, Inputs, check_inputs, make_inputs
from ...importers.model import Model
from ...lower.option_records import InputOptions
from .input_indices import GENERATED, require_valid_indices

if TYPE_CHECKING:
    from ....golden.model_reference import ModelReference

Outputs = list[np.ndarray]

SCALES = (1.0, 0.3, 0.1, 0.03, 0.01)
"""Scales tried for seeded float inputs, until the result neither saturates nor overflows."""


def choose_inputs(
    model: Model, inputs: Inputs | None, options: InputOptions, whole: ModelReference
) -> tuple[Arrays, str, Outputs]:
    """The input arrays, their source in words, and the reference outputs for them.

    Seeded ones are scaled by the largest of SCALES at which every output says something, by 1 where none does. Raises
    AdrenoSimError if an operator or the reference does not take them, NoReferenceError if there is no reference.
    """
    from ....golden.errors import RefusedInputsError

    drawn, origin = first_inputs(model, inputs, options)
    if inputs is not None:
        return drawn, origin, whole.run(list(drawn.values()))
    from ....results.comparison import why_uninformative

    first: Outputs | None = None
    for scale in SCALES if any(array.dtype.kind == "f" for array in drawn.values()) else SCALES[:1]:
        arrays = _scale(drawn, scale)
        try:
            outputs = whole.run(list(arrays.values()))
        except RefusedInputsError as error:
            raise AdrenoSimError(f"{error}; {GENERATED}") from error
        if not any(why_uninformative(output) for output in outputs):
            return arrays, origin + ("" if scale == 1 else f", scale {scale:g}"), outputs
        first = first or outputs
    assert first is not None
    return drawn, origin, first


def first_inputs(model: Model, inputs: Inputs | None, options: InputOptions) -> tuple[Arrays, str]:
    """The inputs that were given, else seeded ones of scale 1, and their source in words. Their indices are in range."""
    arrays, origin = _check_given(model, inputs) or (
        make_inputs(model, None, options.seed, options.shapes),
        f"seed {options.seed}",
    )
    require_valid_indices(model, arrays, generated=inputs is None)
    return arrays, origin


def _check_given(model: Model, inputs: Inputs | None) -> tuple[Arrays, str] | None:
    """Inputs that the caller gave, checked against the model."""
    if inputs is None:
        return None
    if isinstance(inputs, (str, os.PathLike)):
        return make_inputs(model, inputs), str(inputs)
    if isinstance(inputs, Mapping):
        return check_inputs(model, inputs), "given"
    names = [item.name for item in model.inputs]
    if len(inputs) != len(names):
        raise AdrenoSimError(f"{len(inputs)} inputs given: the model expects {len(names)} ({', '.join(names)})")
    return check_inputs(model, dict(zip(names, inputs, strict=True))), "given"


def _scale(arrays: Arrays, scale: float) -> Arrays:
    if scale == 1:
        return arrays
    return {name: (array * scale).astype(array.dtype) if array.dtype.kind == "f" else array for name, array in arrays.items()}
