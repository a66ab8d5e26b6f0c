"""Runs every call on a second device too, on the same inputs, and compares the results of both."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...base.errors import AdrenoSimError
from ...device.protocol import Device
from ...findings import Finding, Kind
from ...results.comparison import Comparison, compare
from ...results.expected import Expected
from ...results.model import KernelReport, PeerReport
from ..artifact.model import CompiledModel
from ..run.observer import FunctionCall
from ..run.values import Tensor, allocate_tensor, lend_tensor
from ..run.vm import VirtualMachine
from .golden import is_result

Arrays = Sequence[np.ndarray | None]
Row = Callable[[int], KernelReport]
"""The row of the kernel that writes argument `position` of a call."""


class SecondDevice:
    """The model on `device`. refused: functions that cannot run there, with the reason."""

    def __init__(self, model: CompiledModel, device: Device):
        self.device = device
        self.refused: dict[str, str] = {}
        self._machine = VirtualMachine(model, device)

    def results(self, call: FunctionCall, before: Arrays, dtypes: Sequence[str] = ()) -> list[np.ndarray | None] | None:
        """The tensor arguments after the call on this device; None if it cannot run. before: their contents before it.

        dtypes: the types of the arguments here, by position, where those of the call are others.
        """
        name = call.function.name
        if name in self.refused:
            return None
        tensors: list[Tensor] = []
        try:
            written = {position for position, _ in call.tensors(written=True)}
            args: list[object] = []
            for position, (arg, array) in enumerate(zip(call.args, before, strict=True)):
                dtype = dtypes[position] if dtypes else None
                args.append(arg if array is None else self._upload(arg, array, dtype, position in written, tensors))
            self._machine.call_host(self._machine.model.host_functions[name], args, call.instruction)  # type: ignore[arg-type]
            return [
                (arg.read() if position in written else before[position]) if isinstance(arg, Tensor) else None
                for position, arg in enumerate(args)
            ]
        except AdrenoSimError as error:
            self.refused[call.function.name] = str(error).splitlines()[0]
            return None
        finally:
            for tensor in tensors:
                tensor.release()

    def _upload(self, like: object, array: np.ndarray, dtype: str | None, written: bool, tensors: list[Tensor]) -> Tensor:
        assert isinstance(like, Tensor)
        wanted = dtype or array.dtype.name
        if not written and wanted == array.dtype.name:
            lent = lend_tensor(self.device, array.reshape(like.shape), like.scope, like.name)
            if lent is not None:
                tensors.append(lent)
                return lent
        tensor = allocate_tensor(self.device, like.shape, wanted, like.scope, like.name)
        tensors.append(tensor)
        with np.errstate(invalid="ignore"):  # NaN of any kind
            tensor.write(array.astype(tensor.dtype, copy=False))
        return tensor

    def compare(self, call: FunctionCall, before: Arrays, golden: Sequence[Expected | None] | None, row: Row) -> list[Finding]:
        """Count every result of `call` in its kernel's row; a finding for each on which the devices do not agree.

        golden: what the call should compute, None if nothing is known.
        """
        theirs = self.results(call, before)
        if theirs is None:
            return []
        findings = []
        for position, (arg, old, other) in enumerate(zip(call.args, before, theirs, strict=True)):
            if not isinstance(arg, Tensor) or old is None or other is None:
                continue
            expected = None if golden is None else golden[position]
            mine = arg.read()
            if is_result(call, position, old, mine):
                findings += self._judge(call, position, mine, other, expected, row(position))
        return findings

    def _judge(
        self, call: FunctionCall, position: int, mine: np.ndarray, other: np.ndarray, golden: Expected | None, row: KernelReport
    ) -> list[Finding]:
        row.peer = row.peer or PeerReport()
        row.peer.compared += 1
        row.peer.equal += mine.tobytes() == other.tobytes()
        result = compare(other, mine)
        row.peer.max_ulp = max(row.peer.max_ulp, result.max_ulp)
        if result.ok:
            return []
        row.peer.differ += 1
        param = call.function.params[position].name
        message = (
            f"{param} of {call.function.name} (call {call.index}): {call.device.info.name} and {self.device.info.name} differ, "
            f"{_blame(call, self.device, mine, other, golden)}: {_values(result)}"
        )
        tensor = call.args[position]
        assert isinstance(tensor, Tensor)
        return [Finding(Kind.DEVICES_DIFFER, message, row.name, tensor=tensor.name)]

    def close(self) -> None:
        """Free what the model holds on the device."""
        self._machine.close()


def _blame(call: FunctionCall, device: Device, mine: np.ndarray, other: np.ndarray, golden: Expected | None) -> str:
    """Which side golden is not with, in words."""
    if golden is None:
        return "and there is no golden result to say which is right"
    golden = golden.reshape(mine.shape)
    wrong = [d.info.name for d, array in ((call.device, mine), (device, other)) if not compare(array, golden).ok]
    return f"{' and '.join(wrong)} not as golden" if wrong else "both within tolerance of golden"


def _values(result: Comparison) -> str:
    return (
        f"{result.wrong} of {result.elements} elements; worst at {list(result.worst)}: {result.golden:.9g} and {result.got:.9g}"
    )
