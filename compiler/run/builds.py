"""Builds the programs of a model's kernels on one device: at first use, or earlier in threads."""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property

from ...base.errors import BuildError
from ...device.protocol import Device, Program
from ..artifact.model import ENTRY, CompiledModel
from ..artifact.vm_function import CallHost, CallVM
from ..artifact.vm_registers import walk

AHEAD = 4
"""Programs to build ahead of the requested one: few, because a run may end before it needs them."""


class Builds:
    """Each program is built once. `close` ends the threads; `begin` has new ones.

    Where the device gains by it, those that are launched next are built while the caller goes on with one; what is wrong
    with a program is raised where it is asked for.
    """

    def __init__(self, model: CompiledModel, device: Device):
        self._model, self._device = model, device
        self._done: dict[str, Program] = {}
        self._begun: dict[str, Future[Program]] = {}
        self._pool: ThreadPoolExecutor | None = None

    @cached_property
    def order(self) -> list[str]:
        """The kernels as a run comes to them: in the order of the program's text."""
        return find_order(self._model)

    def program(self, name: str) -> Program:
        """The program with kernel `name`. Raises BuildError and UnsupportedError."""
        if name not in self._done:
            begun = self._begun.pop(name, None)
            after = self.order.index(name) + 1
            self.begin(self.order[after : after + AHEAD])
            self._done[name] = self._build(name) if begun is None else begun.result()
        return self._done[name]

    def begin(self, names: Iterable[str]) -> None:
        """Have these built, in this order, by threads."""
        if not self._device.info.builds_in_parallel:
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(len(os.sched_getaffinity(0)), thread_name_prefix="build")
        for name in names:
            if name not in self._done and name not in self._begun:
                self._begun[name] = self._pool.submit(self._build, name)

    def close(self) -> None:
        """Wait for what is being built, and forget what was not begun."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
        self._pool = None
        self._begun = {name: begun for name, begun in self._begun.items() if not begun.cancelled()}

    def _build(self, name: str) -> Program:
        code = self._model.kernels[name]
        try:
            return self._device.build(code.source, code.options)
        except BuildError as error:
            raise BuildError(f"kernel {name}: {error}", error.diagnostics) from error


def find_order(model: CompiledModel) -> list[str]:
    """The kernels of a model in the order in which its program first names them; those that it does not name are the last."""
    found: dict[str, None] = {}
    followed: set[str] = set()

    def follow(name: str) -> None:
        if name in followed or name not in model.functions:
            return
        followed.add(name)
        for instruction in walk(model.functions[name].body):
            if isinstance(instruction, CallVM):
                follow(instruction.function)
            elif isinstance(instruction, CallHost):
                launches = model.host_functions[instruction.function].launches()
                found.update((launch.kernel, None) for launch in launches if launch.kernel in model.kernels)

    for name in (ENTRY, *model.functions):
        follow(name)
    return [*found, *(name for name in model.kernels if name not in found)]
