"""Who judges and watches the run of a model."""

from __future__ import annotations

from dataclasses import replace

from ....results.model import Report
from ...run.builds import Builds
from ..judging.judges import Found, choose_judges
from ..judging.observer import KernelObserver
from ..prepare import PreparedRun
from ..second_device import SecondDevice
from .context import CheckContext, CheckedRun, Watchers


def begin_run(
    context: CheckContext, ready: PreparedRun, report: Report, watchers: Watchers, builds: Builds | None, goes_on: bool
) -> CheckedRun:
    """The run of a model that the device can run, with all that is to judge it. goes_on: a wrong value does not end it."""
    compiled, options, second, reproducer = ready.compiled, context.options, watchers.second_device, watchers.reproducer
    if second is not None:
        report.compared_with = second.info.name
    judges = replace(
        choose_judges(compiled, ready.golden, ready.kernels, context.device.info),
        second_device=None if second is None else SecondDevice(compiled, second),
        gives_places=None if ready.kernels is None else ready.kernels.gives_places,
        wrong_stage=ready.wrong_stage,
    )
    observer = KernelObserver(
        compiled,
        judges,
        keep_going=goes_on,
        progress=context.progress,
        refused=context.refused,
        explains=options.explain,
        found=Found(evidence=context.evidence, on_wrong=None if reproducer is None else reproducer.wrong_value),
    )
    return CheckedRun(context, ready, report, watchers, builds, judges, observer)
