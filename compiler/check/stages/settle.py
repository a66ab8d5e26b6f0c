"""A compiled model, settled for a check: with the memory plan to run with, saved where that is asked for, its kernels begun."""

from __future__ import annotations

from ...artifact.model import CompiledModel
from ...plan.rules import DeviceRules
from ...run.builds import Builds
from .context import CheckContext


class Settlement:
    """builds: of the model's kernels, which `close` ends; None before there is a model."""

    def __init__(self, context: CheckContext):
        self._context = context
        self.builds: Builds | None = None

    def settle(self, compiled: CompiledModel) -> CompiledModel:
        """The model with the memory plan to run with; its kernels are being built."""
        context, options = self._context, self._context.options
        if options.plan is not None:
            from ...plan.apply import replan  # with all planners, which few checks need

            with context.stage("plan"):
                compiled = replan(compiled, options.plan, DeviceRules.of_device(context.device))
        if options.save is not None:
            with context.stage("save"):
                compiled.save(options.save)
        self.builds = Builds(compiled, context.device)
        self.builds.begin(self.builds.order)  # while references still run
        return compiled

    def close(self) -> None:
        if self.builds is not None:
            self.builds.close()
