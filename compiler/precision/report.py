"""`precision` of a model: run it as it is and recast, layer by layer and whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ...base.errors import AdrenoSimError
from ...device.protocol import Device
from ...results.comparison import why_uninformative
from ..importers.load import Model, load_model
from ..layers.numbering import full_names
from ..layers.recast import numeric, recast
from .local_error import LayerError, local_errors, relative_error
from .search import Search, search

if TYPE_CHECKING:
    from ..artifact.model import CompiledModel
    from ..check.prepare import Outputs

SCHEMA = "adreno-sim/precision/1"


@dataclass(frozen=True)
class PrecisionReport:
    """error: of the network with `skip` left in its own type; None where nothing tried met the bound."""

    model: str
    target: str
    device: str
    dtype: str
    out_dtype: str
    operators: tuple[str, ...]
    bound: float
    inputs: str
    layers: tuple[LayerError, ...]
    tried: tuple[tuple[tuple[int, ...], float], ...]
    skip: tuple[int, ...] | None
    error: float | None

    @property
    def ok(self) -> bool:
        return self.skip is not None

    def as_json(self) -> dict[str, Any]:
        return {"schema": SCHEMA, "ok": self.ok, **asdict(self)}


def precision(
    source: Any,
    inputs: Any = None,
    *,
    device: Device,
    dtype: str = "float16",
    out_dtype: str = "float32",
    ops: Iterable[str] = ("nn.conv2d", "matmul"),
    bound: float = 0.01,
    target: str = "texture",
    most_runs: int = 12,
    seed: int = 0,
    shapes: Mapping[str, Sequence[int]] | None = None,
) -> tuple[PrecisionReport, CompiledModel | None]:
    """Which layers must stay in the network's type for its outputs to stay within `bound`; and the model compiled so.

    Errors are the largest |difference| over max(|value|, rms) against the unchanged network on TVM's llvm target. Layers
    are judged one by one there; the whole network runs on `device` with the fixed pipeline. Errors as `check`.
    """
    from ...golden.model_reference import ModelReference
    from ..check.prepare import choose_inputs
    from ..lower.compile_options import CompileOptions

    if not 0 < bound < float("inf"):
        raise AdrenoSimError(f"bound {bound}: expected a positive number, as 0.01")
    names, dtype, out_dtype = full_names(ops), numeric(dtype), numeric(out_dtype)
    model = load_model(source, shapes or None, seed)
    arrays, origin, expected = choose_inputs(
        model, inputs, CompileOptions(seed=seed, shapes=shapes or {}), ModelReference(model.module)
    )
    reasons = [reason for output in expected if (reason := why_uninformative(output))]
    if reasons:
        raise AdrenoSimError(
            f"{model.name}: its outputs say nothing about errors ({reasons[0]}): give --input that makes them vary"
        )
    layers = local_errors(model.module, list(arrays.values()), dtype, out_dtype, names)
    if not layers:
        raise AdrenoSimError(f"{model.name} calls none of {', '.join(names)}: there is nothing to recast")
    network = _Network(model, list(arrays.values()), expected, device, target, (dtype, out_dtype, names))
    found = search(layers, network.error, bound, most_runs)
    report = _report(model.name, target, str(device.info.name), (dtype, out_dtype, names), origin, layers, found)
    return report, None if found.best is None else network.compiled[found.best]


def _report(
    model: str, target: str, device: str, how: tuple[str, str, tuple[str, ...]], origin: str,
    layers: Sequence[LayerError], found: Search,
) -> PrecisionReport:  # fmt: skip
    best = found.best
    return PrecisionReport(
        model, target, device, *how, found.bound, origin, tuple(layers),
        tuple((tuple(sorted(skip)), error) for skip, error in found.tried.items()),
        None if best is None else tuple(sorted(best)),
        None if best is None else found.tried[best],
    )  # fmt: skip


class _Network:
    """Runs the model on a device with layers recast; keeps the compiled models that stayed finite."""

    def __init__(
        self, model: Model, arrays: Outputs, expected: Outputs, device: Device, target: str, how: tuple[str, str, Iterable[str]]
    ):
        self.model, self.arrays, self.expected = model, arrays, expected
        self.device, self.target, self.how = device, target, how
        self.compiled: dict[frozenset[int], CompiledModel] = {}

    def error(self, skip: frozenset[int]) -> float:
        """Largest error of any output."""
        from ..compile import compile_model
        from ..run import vm

        dtype, out_dtype, names = self.how
        module = recast(self.model.module, dtype, out_dtype, names, sorted(skip))
        compiled = compile_model(module, target=self.target, limits=self.device.info.limits, ml=self.device.info.ml)
        self.compiled[skip] = compiled
        got = vm.run(compiled, self.arrays, self.device)
        return max(relative_error(a, b) for a, b in zip(got, self.expected, strict=True))
