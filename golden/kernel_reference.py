"""What each kernel should compute: its PrimFunc before scheduling, run on the CPU by TVM's llvm target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..compiler.tvm_bridge.portable import PortableModule
from ..compiler.tvm_bridge.versions import import_tvm
from ..records import dataclass
from . import result_cache

if TYPE_CHECKING:
    from tvm import IRModule

Argument = np.ndarray | int | float

_DEVICE_ATTRIBUTES = ("target", "scoped")
"""Attributes that tie a PrimFunc to the Adreno target; storage scopes of parameters mean nothing to llvm code."""


@dataclass(frozen=True)
class StoredReference:
    """A KernelReference as data. module: as PortableModule saves it."""

    module: str
    maker: str
    texts: dict[str, str]
    unavailable: dict[str, str]


class KernelReference:
    """The unscheduled PrimFuncs of a model as CPU functions, all in one module.

    `unavailable` maps a function that has no reference to the reason (it was written for a GPU, with thread bindings,
    or llvm cannot build it). Results are kept on disk by function and arguments; nothing is compiled while all are there.
    One that was made `from_stored` imports TVM only if a result is not there.
    """

    def __init__(self, unscheduled: IRModule):
        tvm = import_tvm()
        functions = {str(var.name_hint): _for_cpu(str(var.name_hint), func) for var, func in unscheduled.functions_items()}
        self._module = PortableModule(tvm.IRModule(functions))
        self._built: dict[str, Any] | None = None
        self._maker = f"TVM {tvm.__version__} llvm"
        self._texts = {name: func.script(show_meta=True) for name, func in functions.items()}
        key = result_cache.key_of(self._maker, "unavailable", *self._texts.values())
        known = result_cache.load(key, dict[str, str])
        self.unavailable: dict[str, str] = {} if known is None else known
        if known is None:
            self._build_all()
            result_cache.store(key, dict[str, str], self.unavailable)

    def to_stored(self) -> StoredReference:
        """All but what was compiled."""
        return StoredReference(self._module.save(), self._maker, self._texts, self.unavailable)

    @staticmethod
    def from_stored(stored: StoredReference) -> KernelReference:
        """What `to_stored` was called on."""
        made = KernelReference.__new__(KernelReference)
        made._module, made._built, made._maker = PortableModule(stored.module), None, stored.maker
        made._texts, made.unavailable = stored.texts, stored.unavailable
        return made

    def _build_all(self) -> dict[str, Any]:
        functions = {str(var.name_hint): func for var, func in self._module.module.functions_items()}
        built: dict[str, Any] = {}
        try:
            self._build(built, functions)
        except Exception:  # one function that llvm refuses fails the whole module: build each alone
            for name, func in functions.items():
                try:
                    self._build(built, {name: func})
                except Exception as error:
                    self.unavailable[name] = f"TVM's llvm target does not build it: {_first_line(error)}"
        self._built = built
        return built

    def _build(self, built: dict[str, Any], functions: dict[str, Any]) -> None:
        if functions:
            tvm = import_tvm()
            module = tvm.compile(tvm.IRModule(functions), target=tvm.target.Target("llvm"))
            built.update((name, module[name]) for name in functions)

    def __contains__(self, name: str) -> bool:
        return name in self._texts and name not in self.unavailable

    def run(self, name: str, args: Sequence[Argument]) -> list[np.ndarray | None]:
        """Call `name` with copies of `args` in its parameters' order; the arrays afterwards, None for scalars. One that it left
        as it was comes back itself.

        Which of them are results is the function's business: it writes them in place. An argument keeps its dtype; its
        shape is that of the function's parameter.
        """
        arrays = [np.asarray(a, order="C") if isinstance(a, np.ndarray) else a for a in args]
        key = result_cache.key_of(self._maker, self._texts[name], *arrays)
        changed = result_cache.load(key, dict[int, np.ndarray])
        if changed is None:
            after = self._call(name, arrays)
            changed = {i: new for i, (old, new) in enumerate(zip(arrays, after, strict=True)) if not _same(old, new)}
            result_cache.store(key, dict[int, np.ndarray], changed)
        return [changed.get(i, a) if isinstance(a, np.ndarray) else None for i, a in enumerate(arrays)]

    def _call(self, name: str, args: Sequence[Argument]) -> list[np.ndarray | None]:
        built = self._built if self._built is not None else self._build_all()
        tensor = import_tvm().runtime.tensor
        passed: list[Any] = [tensor(a) if isinstance(a, np.ndarray) else a for a in args]
        built[name](*passed)
        return [p.numpy() if isinstance(a, np.ndarray) else None for p, a in zip(passed, args, strict=True)]


def _same(old: Argument, new: np.ndarray | None) -> bool:
    """Whether the function left an argument as it was, to the bit."""
    if not isinstance(old, np.ndarray) or new is None:
        return True
    return bool(np.array_equal(old.reshape(-1).view(np.uint8), new.reshape(-1).view(np.uint8)))


def _for_cpu(name: str, func: Any) -> Any:
    func = func.with_attr("global_symbol", name)
    for attribute in _DEVICE_ATTRIBUTES:
        if func.attrs is not None and attribute in func.attrs:
            func = func.without_attr(attribute)
    return func


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
