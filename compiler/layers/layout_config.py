"""Layout conversion with layers left out.

    with LayoutConfig(skip_layers=[0]):
        mod = convert_layout({"relax.nn.conv2d": ["NCHW4c", "OIHW4o", "NCHW4c"]})(mod)

The texture pipeline's own ConvertLayout heeds the scope too, so that `check` and `compile_model` inside it do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar, Token
from typing import TYPE_CHECKING, Any

from ...base.errors import AdrenoSimError
from ..tvm_bridge.read import key
from ..tvm_bridge.versions import import_tvm
from .numbering import layers, skipped_layers

if TYPE_CHECKING:
    from tvm.ir.transform import Pass

ADRENO_LAYOUTS = {"relax.nn.conv2d": ["NCHW4c", "OIHW4o", "NCHW4c"]}
"""What TVM's Adreno pipeline asks ConvertLayout for."""

CONV2D = "relax.nn.conv2d"

_current: ContextVar[LayoutConfig | None] = ContextVar("layout_config", default=None)


class LayoutConfig:
    """A scope in which ConvertLayout leaves the conv2d layers of these numbers in the layout they have.

    Layers are counted in the function `main` as ConvertLayout receives it, conv2d alone. Scopes nest; the innermost holds.
    """

    def __init__(self, skip_layers: Iterable[int] = ()):
        self.skip_layers = tuple(skip_layers)
        self._tokens: list[Token[LayoutConfig | None]] = []

    def __enter__(self) -> LayoutConfig:
        self._tokens.append(_current.set(self))
        return self

    def __exit__(self, *_: object) -> None:
        _current.reset(self._tokens.pop())

    @staticmethod
    def current() -> LayoutConfig | None:
        """The innermost scope, None outside any."""
        return _current.get()


def convert_layout(desired: Mapping[str, Sequence[str]] | None = None) -> Pass:
    """TVM's ConvertLayout (default: to Adreno's texture layouts), less the layers that the current LayoutConfig skips.

    The scope counts where the pass is applied. A layer number that no conv2d has ends in TVM's RuntimeError with the text.
    """
    tvm = import_tvm()
    wanted = {name: list(layouts) for name, layouts in (desired or ADRENO_LAYOUTS).items()}

    def transform(mod: Any, _ctx: Any) -> Any:
        config = LayoutConfig.current()
        if config is None or not config.skip_layers:
            return tvm.relax.transform.ConvertLayout(wanted)(mod)
        if CONV2D not in wanted:
            raise AdrenoSimError(f"LayoutConfig(skip_layers={list(config.skip_layers)}): no layout is asked for {CONV2D}")
        kept = _unconverted_calls(mod, config)

        def layouts(call: Any) -> dict[str, list[str]]:
            if key(call) not in kept:
                return wanted
            attrs = call.attrs
            return {**wanted, CONV2D: [str(attrs.data_layout), str(attrs.kernel_layout), str(attrs.out_layout)]}

        return tvm.relax.transform.ConvertLayout(wanted, layouts)(mod)

    return tvm.transform.module_pass(transform, opt_level=0, name="ConvertLayout")


def _unconverted_calls(mod: Any, config: LayoutConfig) -> set[int]:
    """Keys of the calls that keep their layout."""
    relax = import_tvm().relax
    found = [f for var, f in mod.functions_items() if str(var.name_hint) == "main" and isinstance(f, relax.Function)]
    calls = [binding.value for function in found for binding in layers(function, (CONV2D,))]
    return {key(calls[number]) for number in skipped_layers(len(calls), config.skip_layers)}
