"""Layout conversion with layers left out.

    with LayoutConfig(skip_layers=[0]):
        mod = relax.transform.ConvertLayout({"nn.conv2d": ["HWNC", "default"]})(mod)

TVM's own ConvertLayout heeds the scope, as do its pipelines, `check` and `compile_model` inside it.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar, Token
from typing import TYPE_CHECKING, Any

from ...base.errors import AdrenoSimError
from ..tvm_bridge.read import key
from ..tvm_bridge.versions import import_tvm
from .numbering import CONV2D, full_names, layers, skipped_layers

if TYPE_CHECKING:
    from tvm.ir.transform import Pass

ADRENO_LAYOUTS = {CONV2D: ["NCHW4c", "OIHW4o", "NCHW4c"]}
"""What TVM's Adreno pipeline asks ConvertLayout for."""

DEFAULT = "default"

KERNELS = {"NCHW": "OIHW", "NHWC": "HWIO", "HWNC": "HWOI", "NCHW4c": "OIHW4o"}
"""Layout of data -> the default one of kernels."""

_current: ContextVar[LayoutConfig | None] = ContextVar("layout_config", default=None)


class LayoutConfig:
    """A scope in which ConvertLayout leaves the conv2d layers of these numbers, or with None all, in the layout they have.

    Layers are counted in the function `main` as ConvertLayout receives it, conv2d alone. Scopes nest; the innermost holds.
    A scope in which nothing converted layouts warns at its end: it did nothing. Passes that were built before the first scope was
    made know of none.
    """

    def __init__(self, skip_layers: Iterable[int] | None = ()):
        steer_convert_layout()
        self.skip_layers = None if skip_layers is None else tuple(skip_layers)
        self.heeded = False
        self._tokens: list[Token[LayoutConfig | None]] = []

    def __enter__(self) -> LayoutConfig:
        self._tokens.append(_current.set(self))
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        _current.reset(self._tokens.pop())
        if kind is None and self.skip_layers != () and not self.heeded:
            numbers = None if self.skip_layers is None else list(self.skip_layers)
            warnings.warn(
                f"LayoutConfig(skip_layers={numbers}) did nothing: no layouts were converted in this scope; "
                "expected a ConvertLayout that was built after the scope was made, or a texture target",
                stacklevel=2,
            )

    @staticmethod
    def current() -> LayoutConfig | None:
        """The innermost scope, None outside any."""
        return _current.get()


def convert_layout(desired: Mapping[str, Sequence[str]] | None = None) -> Pass:
    """TVM's ConvertLayout (default: to Adreno's texture layouts), less the layers that the current LayoutConfig skips.

    desired: operator ("nn.conv2d" or "relax.nn.conv2d") -> layouts of data, kernel and, if wanted, result. "default" for a kernel
    is the usual one beside the data's; for the data it leaves the operator alone. The scope counts where the pass is applied; a
    layer number that no conv2d has ends in TVM's RuntimeError with the text. AdrenoSimError for anything but an operator or
    layout.
    """
    transform = import_tvm().relax.transform
    steer_convert_layout()
    return transform.ConvertLayout(complete_layouts(desired or ADRENO_LAYOUTS))


def complete_layouts(desired: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Desired layouts as TVM's pass takes them: full names of operators, no "default"."""
    found = {}
    for name, layouts in desired.items():
        (operator,) = full_names([str(name)])
        data, kernel, *rest = [*map(str, layouts), *[DEFAULT] * (2 - len(layouts))]
        if data == DEFAULT:
            continue
        if kernel == DEFAULT and data not in KERNELS:
            raise AdrenoSimError(
                f"layouts of {name}: the kernel's default is known beside {', '.join(KERNELS)}, not beside {data}: name it"
            )
        found[operator] = [
            data,
            KERNELS[data] if kernel == DEFAULT else kernel,
            *(data if one == DEFAULT else one for one in rest),
        ]
    return found


@functools.cache
def steer_convert_layout() -> None:
    """From now on TVM's ConvertLayout makes passes that heed the LayoutConfig in which they are applied."""
    from tvm.relax.transform import transform as module

    original = module._ffi_api.ConvertLayout

    def make(desired: Any, callback: Callable[[Any], Any] | None = None) -> Any:
        wanted = complete_layouts(desired)
        return import_tvm().transform.module_pass(_Steered(original, wanted, callback), opt_level=0, name="ConvertLayout")

    module._ffi_api.ConvertLayout = make


class _Steered:
    """What the pass does: TVM's own, or its own with some layers left out."""

    __name__ = "ConvertLayout"

    def __init__(self, original: Any, wanted: dict[str, list[str]], callback: Callable[[Any], Any] | None):
        self.original, self.wanted, self.callback = original, wanted, callback

    def __call__(self, mod: Any, _ctx: Any) -> Any:
        config = LayoutConfig.current()
        if config is None or config.skip_layers == ():
            return self.original(self.wanted, self.callback)(mod)
        config.heeded = True
        kept = _unconverted_calls(mod, config)

        def layouts(call: Any) -> Any:
            if key(call) in kept:
                attrs = call.attrs
                return {**self.wanted, CONV2D: [str(attrs.data_layout), str(attrs.kernel_layout), str(attrs.out_layout)]}
            return self.wanted if self.callback is None else self.callback(call)

        return self.original(self.wanted, layouts)(mod)


def _unconverted_calls(mod: Any, config: LayoutConfig) -> set[int]:
    """Keys of the calls that keep their layout."""
    relax = import_tvm().relax
    found = [f for var, f in mod.functions_items() if str(var.name_hint) == "main" and isinstance(f, relax.Function)]
    calls = [binding.value for function in found for binding in layers(function, (CONV2D,))]
    numbers = range(len(calls)) if config.skip_layers is None else skipped_layers(len(calls), config.skip_layers)
    return {key(calls[number]) for number in numbers}
