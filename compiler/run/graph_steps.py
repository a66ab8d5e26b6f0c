"""A call of a graph of OpenCL ML whose steps the program runs one by one, on tensors that a plan has placed."""

from __future__ import annotations

import time
from collections.abc import Sequence

from ...base.specs import View
from ...device.protocol import MLProgram
from ...records import dataclass
from ..artifact.host_function import HostFunction
from .observer import FunctionCall, GraphCall, Observer


@dataclass
class GraphCallBySteps:
    """One call from its first step to its last, hooks around it. skipped: an observer has written the results itself."""

    call: FunctionCall
    name: str
    program: MLProgram
    observer: Observer
    skipped: bool = False
    seconds: float = 0.0

    @property
    def function(self) -> HostFunction:
        return self.call.function

    def begin(self) -> None:
        """Before the first step."""
        self.observer.before_function(self.call)
        self.skipped = self.observer.replaces_call(self.call)

    def do(self, step: int, reads: Sequence[View], writes: Sequence[View]) -> None:
        """Run one step on its tensors."""
        if not self.skipped:
            start = time.perf_counter()
            self.program.run_step(step, reads, writes)
            self.seconds += time.perf_counter() - start

    def end(self) -> None:
        """After the last step."""
        if not self.skipped:
            self.observer.after_graph(GraphCall(self.call, self.name, self.program), self.program.report_run(self.seconds))
        self.observer.after_function(self.call)
