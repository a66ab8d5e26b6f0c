"""The rows of a report's kernels, while a model runs."""

from __future__ import annotations

from collections.abc import Sequence

from ....findings import Finding, Severity
from ....results.comparison import Comparison
from ....results.model import KernelReport
from ...artifact.host_function import BufferRef, HostFunction
from ...artifact.model import CompiledModel
from ...run.observer import FunctionCall


class KernelRows:
    """A row for each kernel of `model` that was launched or whose results were compared, by name, in that order."""

    def __init__(self, model: CompiledModel):
        self._model = model
        self.kernels: dict[str, KernelReport] = {}

    def of_kernel(self, kernel: str, function: HostFunction) -> KernelReport:
        return self.kernels.setdefault(kernel, KernelReport(kernel, function.name))

    def of_result(self, call: FunctionCall, position: int) -> KernelReport:
        """The row of the kernel that writes argument `position` of a call."""
        return self.of_kernel(self.find_writer(call, position), call.function)

    def find_writer(self, call: FunctionCall, position: int) -> str:
        """The last kernel of the call's function that may write argument `position`; its last kernel where none says so."""
        launches, param = call.function.launches(), call.function.params[position].name
        for launch in reversed(launches):
            for arg, declared in zip(launch.args, self._model.kernels[launch.kernel].params, strict=True):
                if isinstance(arg, BufferRef) and arg.name == param and declared.access in ("write", "read_write"):
                    return launch.kernel
        return launches[-1].kernel if launches else call.function.name

    def finish(self, findings: Sequence[Finding]) -> list[KernelReport]:
        """The rows, findings counted; a kernel that only fills workspaces points to the function that was compared."""
        compared = {row.function for row in self.kernels.values() if row.compared > row.vacuous}
        for row in self.kernels.values():
            if not row.compared and row.function in compared:
                row.part_of = row.function
            mine = [finding for finding in findings if finding.kernel == row.name]
            row.errors = sum(finding.severity is Severity.ERROR for finding in mine)
            row.warnings = sum(finding.severity is Severity.WARNING for finding in mine)
        return list(self.kernels.values())


def count_comparison(row: KernelReport, result: Comparison) -> None:
    """Count one result of a kernel, right or wrong."""
    row.compared += 1
    row.wrong += not result.ok
    row.vacuous += bool(result.ok and result.uninformative)
    row.max_ulp = max(row.max_ulp, result.max_ulp)
    if result.max_abs >= row.max_abs:
        row.max_abs, row.worst_index = result.max_abs, result.worst
