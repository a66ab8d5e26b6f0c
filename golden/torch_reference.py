"""What a program of torch.export should compute: PyTorch itself, where the program came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..base.errors import AdrenoSimError


def run_torch(program: Any, arguments: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Outputs of a torch.export.ExportedProgram on the CPU, tuples flattened.

    Raises AdrenoSimError if PyTorch refuses them.
    """
    import torch

    try:
        with torch.no_grad():
            found = program.module()(*(torch.from_numpy(np.array(array)) for array in arguments))
    except Exception as error:  # guards, operators and the dispatcher raise what they like
        raise AdrenoSimError(f"PyTorch: {str(error).splitlines()[0]}") from error
    return flatten_outputs(found)


def flatten_outputs(value: Any) -> list[np.ndarray]:
    """The tensors of what a program returns, in order. AdrenoSimError for what holds others."""
    if hasattr(value, "numpy"):
        return [value.detach().cpu().numpy()]
    if isinstance(value, Mapping):
        value = list(value.values())
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise AdrenoSimError(f"the program returns {value!r}: expected tensors, and tuples and dictionaries of them")
    return [array for item in value for array in flatten_outputs(item)]
