"""From functions as clang wrote them to finished kernel IR: each is read, its helpers inlined, then cleaned up."""

from __future__ import annotations

from ..base.errors import UnsupportedError
from ..ir.cfg import clean_up
from ..ir.ir import Function
from ..ir.verify import verify
from .llvm_reader.reader import ModuleReader
from .mangling import demangle
from .passes.cse import share_common_subexpressions
from .passes.dead import remove_dead
from .passes.infer_address_spaces import narrow_generic_pointers
from .passes.inline import inline_helpers
from .passes.promote import promote
from .vec3 import narrow_vec3

_DEPTH_LIMIT = 100
"""Helper calls within one another."""


class Linker:
    """Finishes the functions of one module. A helper is simplified once, and copied into each of its callers."""

    def __init__(self, reader: ModuleReader):
        self.reader = reader
        self._helpers: dict[str, Function] = {}
        self._active: list[str] = []

    def finish(self, name: str) -> Function:
        """The kernel IR of function `name`. Raises UnsupportedError for recursion and what cannot be read."""
        try:
            function = self._simplified(name)
        except RecursionError:
            raise UnsupportedError(f"unsupported: types or expressions nested too deeply (in {name})") from None
        if narrow_generic_pointers(function):
            remove_dead(function)  # casts that would count as uses of a variable
            promote(function)
        share_common_subexpressions(function)
        remove_dead(function)
        verify(function)
        return function

    def _simplified(self, name: str) -> Function:
        """Read, with helpers inlined and variables promoted."""
        function = self.reader.read(name)
        self._check(function)
        self._active.append(name)
        inline_helpers(function, self._helper)
        self._active.pop()
        clean_up(function)
        narrow_vec3(function)
        promote(function)
        return function

    def _helper(self, name: str) -> Function:
        found = self._helpers.get(name)
        if found is None:
            found = self._helpers[name] = self._simplified(name)
        return found

    def _check(self, function: Function) -> None:
        """Refuse recursion and endless nesting at the call, before it is followed."""
        for block in function.blocks:
            for instr in block.instrs:
                if instr.op == "helper":
                    where = f"at {instr.loc.line}:{instr.loc.column} (in {function.name})"
                    if instr.pred == function.name or instr.pred in self._active:
                        raise UnsupportedError(f"unsupported: recursion through {demangle(instr.pred).name} {where}")
                    if len(self._active) >= _DEPTH_LIMIT:
                        raise UnsupportedError(f"unsupported: more than {_DEPTH_LIMIT} calls within one another {where}")
