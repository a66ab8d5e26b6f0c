"""Coarse-grained memory is digested anew after a command only where the command may have written it."""

from __future__ import annotations

from types import SimpleNamespace

import adreno_sim
from adreno_sim.base.specs import BufferSpec
from adreno_sim.icd.finding_log import FindingLog
from adreno_sim.icd.protocol import Command
from adreno_sim.icd.ring import Header
from adreno_sim.icd.shared_memory import SharedMemory
from adreno_sim.results.run_report import ProcessReport


def test_only_what_a_command_may_have_written_is_digested() -> None:
    device = adreno_sim.open_device("sim:adreno-740", checks="full")
    views = {number: device.view(device.allocate(4096), BufferSpec(4096)) for number in (1, 2, 3)}
    objects = SimpleNamespace(device=device, shared={1: False, 2: False, 3: True}, memory=views.__getitem__)
    log = FindingLog(ProcessReport("client", 1, "sim:adreno-740", "full"), say=lambda _: None)
    memory, digested = SharedMemory(objects, log), []  # type: ignore[arg-type]
    digest = memory._digest
    memory._digest = lambda number: (digested.append(number), digest(number))[1]  # type: ignore[method-assign, func-returns-value]
    memory.note_state()
    assert digested == [1, 2]
    views[1].array()[5] = 1  # by a launch
    memory.note_state([views[1]])
    memory.note_state()
    assert digested == [1, 2, 1]
    header = Header(Command.NOTHING, 1, 7, 8, 1, ())
    memory.check(header)
    assert log.report.findings == []
    views[2].array()[5] = 1  # by the host
    memory.check(header)
    (finding,) = log.report.findings
    assert "memory 2 was changed by the host" in finding.message
