"""The `adreno_plan` fixture: compile a model and ask what its memory plan takes, and what other planners would."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from ..base import pytest_outcomes
from ..base.errors import AdrenoSimError, UnsupportedError
from ..base.pytest_settings import PytestSettings
from .results import PREFIX

if TYPE_CHECKING:
    from ..compiler.artifact.memory_plan import MemoryPlan
    from ..compiler.plan.rules import DeviceRules
    from ..device.protocol import Device
    from ..results.plan_summary import PlanSummary


class PlanFigures:
    """Bytes of one memory plan under a device's rules. `plan.bytes("tvm") <= budget` is what tests assert."""

    def __init__(self, plan: MemoryPlan, rules: DeviceRules, node: pytest.Item):
        from ..compiler.plan.footprint import measure

        self._given = plan
        self._node = node
        self._rules = rules
        self._bytes: dict[str, int] = {}
        self._own = measure(plan, rules, [])

    @property
    def plan(self) -> MemoryPlan:
        """The plan as compiled, its tensors with the sizes that they have on the device."""
        assert self._own.plan is not None
        return self._own.plan

    @property
    def summary(self) -> PlanSummary:
        """Totals of the plan as compiled, in bytes."""
        return self.plan.summary

    @property
    def lower_bound(self) -> int:
        """Bytes that no plan of these tensors can do without."""
        return self._own.problem.lower_bound()

    def bytes(self, planner: str = "compiled") -> int:
        """Bytes of all storages: "compiled" as the compiler planned them, else as planner `planner` would.

        Fails the test for an unknown planner, naming those there are, and for one that cannot plan these tensors.
        """
        if planner not in self._bytes:
            try:
                self._bytes[planner] = self._measure(planner)
            except AdrenoSimError as error:
                pytest_outcomes.fail(str(error))
            self._node.user_properties.append((f"{PREFIX}plan-bytes.{planner}", self._bytes[planner]))
        return self._bytes[planner]

    def __repr__(self) -> str:
        figures = [f"lower bound {self.lower_bound:,}", *(f"{name} {nbytes:,}" for name, nbytes in self._bytes.items())]
        return f"<plan: {', '.join(figures)} bytes>"

    def _measure(self, planner: str) -> int:
        from ..compiler.plan.footprint import measure, planner_names
        from ..compiler.plan.replan import AS_COMPILED

        if planner == "compiled":
            return self._own.of(AS_COMPILED).total
        (name,) = planner_names(planner)
        return measure(self._given, self._rules, [name]).of(name).total


class AdrenoPlan:
    """Callable that compiles a model for the test's device and returns the figures of its memory plan."""

    def __init__(self, device: Device, text: str, settings: PytestSettings, node: pytest.Item):
        self._node = node
        self._device = device
        self._text = text
        self._settings = settings

    def __call__(self, model: Any, target: str | None = None, **options: Any) -> PlanFigures:
        """Figures of `model`'s plan; nothing is run. target: None = texture, or a bundle's own. options: of `compile_model`.

        Skips the test where TVM cannot compile the model for the target, fails it for bad input or symbolic shapes.
        """
        from ..compiler.artifact.model import is_compiled
        from ..compiler.compile import compile_model
        from ..compiler.plan.rules import DeviceRules

        if not is_compiled(model):
            options.setdefault("pipeline", self._settings.pipeline)
        info = self._device.info
        try:
            compiled = compile_model(model, target=target, limits=info.limits, ml=info.ml, **options)
        except UnsupportedError as error:
            pytest_outcomes.skip_unsupported(self._text, error)
        except AdrenoSimError as error:
            pytest_outcomes.fail(str(error))
        if compiled.plan is None:
            pytest_outcomes.fail(f"{compiled.name}: its input shapes are symbolic, so no plan has a size (shapes=...)")
        return PlanFigures(compiled.plan, DeviceRules.of_device(self._device), self._node)
