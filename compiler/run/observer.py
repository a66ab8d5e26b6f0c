"""Hooks of a VM run: comparison, snapshots and timing live in observers, never in the VM."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ...base.specs import View
from ...device.protocol import Device, Kernel, LaunchResult, MLProgram
from ...findings import Finding
from ...records import dataclass
from ..artifact.host_function import HostFunction
from ..artifact.model import KernelCode
from .values import Tensor

if TYPE_CHECKING:
    from ...mlops.engine import GraphRun


@dataclass(frozen=True)
class FunctionCall:
    """One call of a host function. args follow function.params; symbols are its shape variables; index counts calls from 0.

    `instruction` is the VM instruction's index in its function. Tensors are valid only inside the hook.
    """

    function: HostFunction
    args: tuple[Tensor | int | float, ...]
    symbols: dict[str, int]
    index: int
    instruction: int
    device: Device

    @property
    def signature(self) -> tuple[object, ...]:
        """The function, and the shapes of its tensors and the values of its scalars."""
        return (self.function.name, *(arg.shape if isinstance(arg, Tensor) else arg for arg in self.args))

    def tensors(self, *, written: bool) -> list[tuple[int, Tensor]]:
        """(position, tensor) of the arguments the kernels write (or only read)."""
        wanted = ("write", "read_write") if written else ("read", "none")
        pairs = zip(self.function.params, self.args, strict=True)
        return [
            (i, arg) for i, (param, arg) in enumerate(pairs) if isinstance(arg, Tensor) and getattr(param, "access", "") in wanted
        ]


@dataclass(frozen=True)
class LaunchCall:
    """One kernel launch of `call`. args as given to device.launch; names[i] is the host name of a view argument ("" else).

    `kernel` is the built kernel, so that an observer can launch it again (replay). index counts launches from 0.
    """

    call: FunctionCall
    code: KernelCode
    kernel: Kernel
    global_size: tuple[int, int, int]
    local_size: tuple[int, int, int]
    args: tuple[View | np.generic, ...]
    names: tuple[str, ...]
    index: int


@dataclass(frozen=True)
class GraphCall:
    """One run of a graph of OpenCL ML operators by `call`."""

    call: FunctionCall
    graph: str
    program: MLProgram


class Observer:
    """Called around every host-function call, kernel launch and graph; the defaults do nothing.

    A hook may read and write tensors and launch kernels on the device. An exception stops the run.
    """

    def before_function(self, call: FunctionCall) -> None: ...

    def replaces_call(self, call: FunctionCall) -> bool:
        """Asked after before_function: True if the observer has written the call's results itself; nothing is launched."""
        return False

    def after_function(self, call: FunctionCall) -> None: ...

    def before_launch(self, launch: LaunchCall) -> None: ...

    def after_launch(self, launch: LaunchCall, result: LaunchResult) -> None: ...

    def after_graph(self, graph: GraphCall, run: GraphRun) -> None: ...

    def storage_reused(self, tensor: str, live: list[str], where: str) -> None:
        """`tensor` is made over bytes of tensors that still live; `where` names the instruction."""

    def state_finding(self, finding: Finding) -> None:
        """What is wrong with the state that an object of TVM's runtime keeps."""


class Observers(Observer):
    """Several observers as one: before-hooks in order, after-hooks in reverse."""

    def __init__(self, *observers: Observer):
        self.observers = observers

    def before_function(self, call: FunctionCall) -> None:
        _each(self.observers, lambda o: o.before_function(call))

    def replaces_call(self, call: FunctionCall) -> bool:
        return any(observer.replaces_call(call) for observer in self.observers)

    def after_function(self, call: FunctionCall) -> None:
        _each(self.observers[::-1], lambda o: o.after_function(call))

    def before_launch(self, launch: LaunchCall) -> None:
        _each(self.observers, lambda o: o.before_launch(launch))

    def after_launch(self, launch: LaunchCall, result: LaunchResult) -> None:
        _each(self.observers[::-1], lambda o: o.after_launch(launch, result))

    def after_graph(self, graph: GraphCall, run: GraphRun) -> None:
        _each(self.observers[::-1], lambda o: o.after_graph(graph, run))

    def storage_reused(self, tensor: str, live: list[str], where: str) -> None:
        _each(self.observers, lambda o: o.storage_reused(tensor, live, where))

    def state_finding(self, finding: Finding) -> None:
        _each(self.observers, lambda o: o.state_finding(finding))


def _each(observers: tuple[Observer, ...], hook: Callable[[Observer], None]) -> None:
    for observer in observers:
        hook(observer)
