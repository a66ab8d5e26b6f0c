"""A TVM module that outlives its process: saved as TVM's JSON, and read back, by importing TVM, only if somebody looks inside."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .versions import import_tvm

if TYPE_CHECKING:
    from tvm import IRModule


class PortableModule:
    """Holds a module, or what it was saved as. It pickles; what is unpickled needs no TVM until `module` is asked for."""

    def __init__(self, module: IRModule):
        self._module: IRModule | None = module
        self._saved = ""

    @property
    def module(self) -> IRModule:
        """The module. Raises as `import_tvm`."""
        if self._module is None:
            self._module = import_tvm().ir.load_json(self._saved)
        return self._module

    def __getstate__(self) -> dict[str, object]:
        return {"_module": None, "_saved": self._saved or import_tvm().ir.save_json(self._module)}
