"""Which operators of the model a kernel belongs to, by the calls that launch it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from ...records import dataclass
from . import vm_function as vm
from .host_function import BufferParam
from .model import CompiledModel
from .vm_registers import walk

_CHANGE = "te_layout_transform"


def find_operators(model: CompiledModel) -> Mapping[str, tuple[str, ...]]:
    """Names of operators by the kernel that does them, or a part of them; several where one kernel serves several calls. A kernel
    that TVM put in, as a change of layout, is named by the operator that it comes after, or before."""
    finder = _Finder(model)
    for function in model.functions.values():
        finder.follow(function.body)
    return {kernel: tuple(names) for kernel, names in finder.found.items()}


@dataclass
class _Finder:
    """found: the names, as keys, by kernel. made: what wrote a register. waiting: kernels whose name the reader of a register
    gives, each with what it is called."""

    model: CompiledModel
    found: dict[str, dict[str, None]] = field(default_factory=dict)
    made: dict[str, str] = field(default_factory=dict)
    waiting: dict[str, list[tuple[str, str]]] = field(default_factory=dict)

    def follow(self, body: vm.Block) -> None:
        self.made, self.waiting = {}, {}
        for step in walk(body):
            if isinstance(step, vm.CallHost):
                self._call(step)
            elif isinstance(step, vm.Reshape) and isinstance(step.src, vm.Reg):
                self.made[step.dst] = self.made.get(step.src.name, "")

    def _call(self, call: vm.CallHost) -> None:
        function = self.model.host_functions[call.function]
        params = [param if isinstance(param, BufferParam) else None for param in function.params]
        registers = [
            (arg.name, param.access) for arg, param in zip(call.args, params, strict=True) if param and isinstance(arg, vm.Reg)
        ]
        reads = [name for name, access in registers if access in ("read", "read_write")]
        writes = [name for name, access in registers if access in ("write", "read_write")]
        kernels = [launch.kernel for launch in function.launches()]
        names = call.operators or self._neighbour(call.function, reads)
        if not names:
            what = _describe(call.function)
            for name in writes:
                self.waiting.setdefault(name, []).extend((kernel, what) for kernel in kernels)
            return
        for kernel in kernels:
            self.found.setdefault(kernel, {}).update(dict.fromkeys(names))
        self.made.update(dict.fromkeys(writes, names[-1]))
        for name in reads:
            for kernel, what in self.waiting.pop(name, ()):
                self.found.setdefault(kernel, {})[f"{what} before {names[0]}"] = None

    def _neighbour(self, function: str, reads: Sequence[str]) -> tuple[str, ...]:
        """What a call without operators goes on from, where that is known."""
        source = next((made for name in reads if (made := self.made.get(name))), "")
        return (f"{_describe(function)} after {source.rpartition(' after ')[2]}",) if source else ()


def _describe(function: str) -> str:
    return "layout change" if function.startswith(_CHANGE) else function
