"""One check from its device to its report, stage by stage."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ....base.allow import find_config
from ....base.host.freed_memory import keep_freed_memory
from ....device.compiling import find_compiler
from ....device.protocol import DeviceInfo
from ....findings import Kind
from ....results.model import Report
from ..prepare import ApplyPlan, PreparedRun, Stage
from .context import CheckContext, Watchers
from .execute import execute
from .finish import add_machine_code, finish_report, judge_times
from .outputs import judge_whole, note_low_power
from .report import begin_report
from .requirements import require_runnable
from .settle import Settlement
from .watch import begin_run

STAGES = (execute, note_low_power, judge_whole, judge_times, add_machine_code)
"""What happens to a run, in order."""


def run_check(context: CheckContext, prepare_run: Callable[[DeviceInfo, Stage, ApplyPlan], PreparedRun]) -> Report:
    """Prepare a run for the device, run it, judge everything. Errors as `check`."""
    accepted = find_config(Path.cwd()) if context.options.allow is None else context.options.allow
    watchers, settlement = Watchers(context), Settlement(context)
    keep_freed_memory()  # each call's arrays are as large as those of the call before
    try:
        compiler = find_compiler(context.device)
        if compiler is not None:
            compiler.begin_compiler()  # while TVM is imported
        ready = prepare_run(context.device.info, context.stage, settlement.settle)
        context.unchecked += ready.unchecked
        report = begin_report(context, ready)
        require_runnable(context, ready)
        goes_on = context.options.keep_going or any(entry.kind == Kind.WRONG_VALUE.label for entry in accepted)
        run = begin_run(context, ready, report, watchers, settlement.builds, goes_on)
        for stage in STAGES:
            stage(run)
        finish_report(run, accepted)
        return report
    finally:
        settlement.close()
