"""`precision` of a model: run it as it is and recast, layer by layer and whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ...base.errors import AdrenoSimError
from ...device.protocol import Device
from ...golden.model_expectations import NAME, expect_outputs
from ...golden.truth.units import Units
from ...golden.truth.value import Unmodelled
from ...records import dataclass
from ...results.comparison import compare, why_uninformative
from ...results.expected import Expected
from ...results.unwatched import device_in_words
from ..importers.fixed_inputs import Values
from ..importers.inputs import require_file
from ..importers.load import load_model
from ..importers.model import Model
from ..importers.module_file import require_model
from ..layers.casts import numeric
from ..layers.numbering import full_names
from ..layers.recast import recast
from ..lower.targets import TargetLike, target_text
from .local_error import LayerError, local_errors, relative_error
from .search import search

if TYPE_CHECKING:
    from ..artifact.model import CompiledModel
    from ..check.whole_model.inputs import Outputs

SCHEMA = "adreno-sim/precision/1"


@dataclass(frozen=True)
class PrecisionReport:
    """error: of the network with `skip` left in its own type; None if nothing tried met the bound.

    reference: what gave the outputs that errors are measured from. wrong: outputs that the device gets wrong for the network as
    recast, in words: no error of types.
    """

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
    reference: str = "TVM llvm"
    wrong: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return self.skip is not None and not self.wrong

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
    target: TargetLike = "texture",
    rule: str = "tvm",
    weights: str = "buffer",
    most_runs: int = 12,
    seed: int = 0,
    shapes: Mapping[str, Sequence[int]] | None = None,
    input_values: Values | None = None,
) -> tuple[PrecisionReport, CompiledModel | None]:
    """Which layers must stay in the network's type for its outputs to stay within `bound`; and the model compiled so.

    Errors are the largest |difference| over max(|value|, rms). Layers are judged one by one, on TVM's llvm target; the whole
    network runs on `device` with the fixed pipeline, and is compared with the unchanged one without rounding (as TVM's llvm runs
    it where that is not known). What comes out is also judged as `check` does: a device that computes the recast network wrongly
    says nothing about types. No model is returned then. target, rule, weights, shapes, input_values: as of
    CompileOptions. Errors as `check`.
    """
    from ...golden.model_reference import ModelReference
    from ..check.whole_model.inputs import choose_inputs
    from ..lower.compile_options import CompileOptions

    if not 0 < bound < float("inf"):
        raise AdrenoSimError(f"bound {bound}: expected a positive number, as 0.01")
    options = CompileOptions.of({"target": target, "seed": seed, "shapes": shapes}, None)
    require_model(source)
    require_file(inputs)
    dtype, out_dtype = numeric(dtype), numeric(out_dtype)
    names = full_names(ops)
    model = load_model(source, shapes or None, seed, values=input_values)
    arrays, origin, expected = choose_inputs(model, inputs, options.inputs, ModelReference(model.module))
    reasons = [reason for output in expected if (reason := why_uninformative(output))]
    if reasons:
        raise AdrenoSimError(
            f"{model.name}: its outputs say nothing about errors ({reasons[0]}): give --input that makes them vary"
        )
    layers = local_errors(model.module, list(arrays.values()), dtype, out_dtype, names)
    if not layers:
        raise AdrenoSimError(f"{model.name} calls none of {', '.join(names)}: there is nothing to recast")
    network = _Network(
        model,
        list(arrays.values()),
        expected,
        device,
        {"target": target} | ({"rule": rule} if rule != "tvm" else {}) | ({"weights": weights} if weights != "buffer" else {}),
        (dtype, out_dtype, names),
    )
    found = search(layers, network.error, bound, most_runs)
    best = found.best
    wrong = network.wrong_outputs(best if best is not None else list(found.tried)[-1])
    ran_on = device_in_words(str(device.info.name), device.options.checks)
    report = PrecisionReport(
        model.name, target_text(target), ran_on, dtype, out_dtype, names, bound, origin, tuple(layers),
        tuple((tuple(sorted(skip)), error) for skip, error in found.tried.items()),
        None if best is None else tuple(sorted(best)),
        None if best is None else found.tried[best],
        network.reference, wrong,
    )  # fmt: skip
    return report, network.compiled[best] if best is not None and report.ok else None


class _Network:
    """Runs the model on a device with layers recast; keeps the compiled models and their outputs.

    options: of `compile_model`. expected: outputs of TVM's llvm, for a model whose outputs without rounding are not known.
    reference: what gave those that count.
    """

    def __init__(
        self,
        model: Model,
        arrays: Outputs,
        expected: Outputs,
        device: Device,
        options: Mapping[str, Any],
        how: tuple[str, str, Iterable[str]],
    ):
        self.model, self.arrays = model, arrays
        self.device, self.options, self.how = device, options, how
        self.compiled: dict[frozenset[int], CompiledModel] = {}
        self._got: dict[frozenset[int], Outputs] = {}
        truth = self._truth(model.module)
        self.reference = "TVM llvm" if truth is None else NAME
        self._expected = expected if truth is None else [one.array if one.value is None else one.value for one in truth]

    def error(self, skip: frozenset[int]) -> float:
        """Largest error of any output."""
        from ..compile import compile_model
        from ..run import vm

        compiled = compile_model(self._recast(skip), **self.options, limits=self.device.info.limits, ml=self.device.info.ml)
        self.compiled[skip] = compiled
        self._got[skip] = vm.run(compiled, self.arrays, self.device)
        return max(relative_error(a, b) for a, b in zip(self._got[skip], self._expected, strict=True))

    def wrong_outputs(self, skip: frozenset[int]) -> tuple[str, ...]:
        """What of a run is not what the network computes with these layers left alone and the others recast."""
        truth = self._truth(self._recast(skip))
        if truth is None:
            return ()
        names = [item.name or str(number) for number, item in enumerate(self.compiled[skip].outputs)]
        found = zip(names, self._got[skip], truth, strict=True)
        return tuple(f"{name}: {result}" for name, got, one in found if not (result := compare(got, one)).ok)

    def _recast(self, skip: frozenset[int]) -> Any:
        dtype, out_dtype, names = self.how
        return recast(self.model.module, dtype, out_dtype, names, sorted(skip))

    def _truth(self, module: Any) -> list[Expected] | None:
        """The outputs of a module without rounding; None if no truth is made of it."""
        try:
            return expect_outputs(module, self.arrays, Units.of_device(self.device.info))
        except Unmodelled:
            return None
