"""Run one host-function call again from a snapshot of its arguments, watching one element of its result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...base.specs import View
from ...base.text.spelling import split_lines
from ...device.protocol import Kernel, Watch
from ...findings import WorkItem
from ...records import dataclass
from ..artifact.host_function import Launch
from ..artifact.model import CompiledModel, KernelCode
from ..run import host_functions
from ..run.observer import FunctionCall
from ..run.values import Tensor
from ..run.vm import typed_arguments


@dataclass
class _Watcher:
    """Launch sink that watches `element` of parameter `param` in every launch that is given it."""

    model: CompiledModel
    call: FunctionCall
    kernels: Mapping[str, Kernel]
    param: str
    element: int
    stores: list[dict[str, Any]]

    def __call__(
        self,
        launch: Launch,
        args: tuple[View | np.generic, ...],
        names: tuple[str, ...],
        global_size: tuple[int, int, int],
        local_size: tuple[int, int, int],
    ) -> None:
        code = self.model.kernels[launch.kernel]
        view = next((arg for arg, name in zip(args, names, strict=True) if name == self.param), None)
        watch = Watch(view, self.element) if view is not None and not isinstance(view, np.generic) else None
        result = self.call.device.launch(
            self.kernels[launch.kernel], global_size, local_size, typed_arguments(code, args), watch=watch
        )
        for event in sorted(result.stores, key=lambda event: event.order):
            self.stores.append(_store_to_json(event, code, len(self.stores)))


def _store_to_json(event: Any, code: KernelCode, order: int) -> dict[str, Any]:
    item = event.work_item
    ids = item if isinstance(item, WorkItem) else WorkItem((0, 0, 0), (0, 0, 0), (0, 0, 0))
    return {
        "order": order,
        "kernel": code.name,
        "line": event.line,
        "column": event.column,
        "value": event.value,
        "global_id": ids.global_id,
        "local_id": ids.local_id,
        "source": source_line(code, event.line),
    }


def source_line(code: KernelCode, line: int) -> str:
    """Line `line` (from 1) of the kernel's source without its indentation; "" if there is none."""
    lines = split_lines(code.source)
    return lines[line - 1].strip() if 0 < line <= len(lines) else ""


def replay(
    model: CompiledModel,
    call: FunctionCall,
    kernels: Mapping[str, Kernel],
    before: Sequence[np.ndarray | None],
    position: int,
    element: int,
) -> list[dict[str, Any]]:
    """Every store that touched `element` (flat index) of argument `position`, in order.

    before: contents of the tensor arguments when the call began (None for scalars); they are written back first, and
    the call's results are on the device again afterwards. kernels: the built kernels of the function, by name.
    """
    for arg, array in zip(call.args, before, strict=True):
        if isinstance(arg, Tensor) and array is not None:
            arg.write(array)
    watcher = _Watcher(model, call, kernels, call.function.params[position].name, element, [])
    host_functions.call(call.function, call.args, host_functions.bind(call.function, call.args), call.device, watcher)
    return watcher.stores
