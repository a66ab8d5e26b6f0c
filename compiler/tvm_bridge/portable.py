"""A TVM module that outlives its process: saved as TVM's JSON, and read back, by importing TVM, only if somebody looks inside."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .versions import import_tvm

if TYPE_CHECKING:
    from tvm import IRModule


class PortableModule:
    """Holds a module, or the text that one was saved as: then it needs no TVM until `module` is asked for."""

    def __init__(self, module: IRModule | str):
        self._module: IRModule | None = None if isinstance(module, str) else module
        self._saved = module if isinstance(module, str) else ""

    @property
    def module(self) -> IRModule:
        """The module. Raises as `import_tvm`."""
        if self._module is None:
            self._module = import_tvm().ir.load_json(self._saved)
        return self._module

    def save(self) -> str:
        """The text."""
        return self._saved or str(import_tvm().ir.save_json(self._module))
