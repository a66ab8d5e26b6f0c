"""Makes finished kernel IR of functions as clang wrote them: each is read, its helpers are inlined, and it is simplified."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

from ..base.errors import UnsupportedError
from ..base.stored.values import STRICT
from ..ir.cfg import simplify_cfg
from ..ir.dominators import Dominators
from ..ir.ir import Function
from ..ir.loops import count_nested_loops
from ..ir.verify import InvalidIR, verify
from .llvm_reader.linked import LinkedReader
from .llvm_reader.reader import ModuleReader
from .mangling import demangle
from .passes.constant_shuffles import expand_constant_shuffles
from .passes.cse import eliminate_common_subexpressions
from .passes.dead import eliminate_dead_code
from .passes.declarations import drop_first_declarations, separate_result
from .passes.finite_math import fold_finite_math
from .passes.forward_copies import forward_copies
from .passes.infer_address_spaces import infer_address_spaces
from .passes.inline import inline_helpers
from .passes.promote import promote_to_ssa
from .passes.wave_constants import load_wave_constants
from .vec3 import drop_vec3_padding

T = TypeVar("T")

_CALL_DEPTH_LIMIT = 100
"""The limit of nested helper calls."""

_LOOP_DEPTH_LIMIT = 256
"""The limit of loops within one another, as clang's own limit of brackets: facts about a loop hold for all its blocks."""


def _apply(change: Callable[..., T], function: Function, *others: Any) -> T:
    """Runs one pass. In tests its result is verified, so that a defect is named with the pass that has it."""
    result = change(function, *others)
    if os.environ.get(STRICT):
        try:
            verify(function)
        except InvalidIR as error:
            raise InvalidIR(f"after {change.__name__}: {error}") from None
    return result


class Linker:
    """Finishes the functions of a module, or of linked ones. A helper is simplified once and copied into each caller.

    finite: kernels are compiled as if no value were NaN or infinite. relaxed: their floats may be less exact."""

    def __init__(self, reader: ModuleReader | LinkedReader, finite: bool = False, relaxed: bool = False):
        self.reader, self._finite, self._relaxed = reader, finite, relaxed
        self._helpers: dict[str, Function] = {}
        self._active: list[str] = []

    def finish(self, name: str) -> Function:
        """Returns the kernel IR of function `name`. Raises UnsupportedError for recursion and for what cannot be read."""
        try:
            function = self._read_simplified(name)
        except RecursionError:
            raise UnsupportedError(f"unsupported: types or expressions nested too deeply (in {name})") from None
        _apply(load_wave_constants, function)
        if _apply(infer_address_spaces, function):
            _apply(eliminate_dead_code, function)  # casts that would count as uses of a variable
            _apply(promote_to_ssa, function)
        _apply(forward_copies, function)
        _apply(drop_first_declarations, function)
        _apply(expand_constant_shuffles, function)
        if self._finite:
            _apply(fold_finite_math, function)
        _apply(eliminate_common_subexpressions, function)
        _apply(eliminate_dead_code, function)
        verify(function)
        function.relaxed_math = self._relaxed
        return function

    def _read_simplified(self, name: str) -> Function:
        """Reads a function, inlines its helpers and promotes its variables."""
        function = self.reader.read(name)
        self._check_calls(function)
        _apply(separate_result, function)
        self._active.append(name)
        _apply(inline_helpers, function, self._get_helper)
        self._active.pop()
        _apply(simplify_cfg, function)
        _check_loops(function)
        _apply(drop_vec3_padding, function)
        _apply(promote_to_ssa, function)
        return function

    def _get_helper(self, name: str) -> Function:
        found = self._helpers.get(name)
        if found is None:
            found = self._helpers[name] = self._read_simplified(name)
        return found

    def _check_calls(self, function: Function) -> None:
        """Rejects recursion and too deep nesting at the call, before it is followed."""
        for block in function.blocks:
            for instr in block.instrs:
                if instr.op == "helper":
                    where = f"at {instr.loc.line}:{instr.loc.column} (in {function.name})"
                    if instr.pred == function.name or instr.pred in self._active:
                        raise UnsupportedError(f"unsupported: recursion through {demangle(instr.pred).name} {where}")
                    if len(self._active) >= _CALL_DEPTH_LIMIT:
                        raise UnsupportedError(f"unsupported: more than {_CALL_DEPTH_LIMIT} calls within one another {where}")


def _check_loops(function: Function) -> None:
    """Rejects loops within one another beyond the limit, before anything takes long."""
    if len(function.blocks) > _LOOP_DEPTH_LIMIT and (depth := count_nested_loops(Dominators(function))) > _LOOP_DEPTH_LIMIT:
        raise UnsupportedError(
            f"unsupported: {depth} loops within one another (in {function.name}): expected at most {_LOOP_DEPTH_LIMIT}, "
            "adreno-sim's limit: make one loop of several, or move inner ones to another kernel"
        )
