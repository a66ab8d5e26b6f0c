"""The `adreno_check` fixture: check a model on the test's device, and fail the test with what is wrong."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ..base import pytest_outcomes
from ..base.errors import AdrenoSimError, UncompiledError, UnsupportedError
from ..base.pytest_settings import PytestSettings
from . import results

if TYPE_CHECKING:
    from ..device.protocol import Device
    from ..results.model import Report


class AdrenoCheck:
    """Callable that checks one model and returns its Report.

    Bad input, findings, and passes of the test that do not compile the model fail the test; what the device cannot do
    skips it, with the reason.
    """

    def __init__(self, device: Device, text: str, settings: PytestSettings, node: pytest.Item):
        self.device = device
        self._text = text
        self._settings = settings
        self._node = node

    def __call__(self, model: Any, inputs: Any = None, *, snapshot: bool | str = False, **options: Any) -> Report:
        """Check `model` (as `adreno_sim.check` takes it) and assert that the report is ok.

        snapshot: also compare what was found with the snapshot of this name (True: the test's own) in
        adreno_snapshots/MODULE.json beside the test; --adreno-update records it. options: those of `adreno_sim.check`.
        """
        report = self.report(model, inputs, **options)
        if not report.ok:
            pytest_outcomes.fail(self._describe(report, model, inputs, options))
        self._compare(report, snapshot)
        return report

    def report(self, model: Any, inputs: Any = None, *, snapshot: bool | str = False, **options: Any) -> Report:
        """The same, but the report need not be ok: for tests that expect findings."""
        from ..compiler.check.check import check

        options = {"strict": self._settings.strict or None} | self._with_pipeline(model, options)
        model = str(model) if isinstance(model, Path) else model
        try:
            report = check(model, inputs, device=self.device, **options)
        except UnsupportedError as error:
            if isinstance(error, UncompiledError) and not isinstance(options.get("pipeline", ""), str):
                pytest_outcomes.fail(str(error))  # of the test's own passes: what they do not compile is what is tested
            pytest_outcomes.skip_unsupported(self._text, error)
        except AdrenoSimError as error:
            pytest_outcomes.fail(str(error))
        self._node.user_properties += results.properties(self._text, report)
        self._compare(report, snapshot)
        return report

    def _describe(self, report: Report, model: Any, inputs: Any, options: dict[str, Any]) -> str:
        from ..results.plain_text import failure_text

        text = failure_text(report)
        if self._settings.output is None:
            return text
        folder = results.attach(self._settings.output, self._node.nodeid, report)
        if "reproduce" not in options:
            self._reproduce(folder / "reproduce", model, inputs, options)
        return results.failure_text(folder, text)

    def _reproduce(self, folder: Path, model: Any, inputs: Any, options: dict[str, Any]) -> None:
        """Check once more, keeping what launches are given (too slow for every check), to write the one that fails."""
        from ..compiler.check.check import check

        again = {**self._with_pipeline(model, options), "reproduce": folder}
        with contextlib.suppress(AdrenoSimError):
            check(str(model) if isinstance(model, Path) else model, inputs, device=self.device, **again)

    def _with_pipeline(self, model: Any, options: dict[str, Any]) -> dict[str, Any]:
        """The options, and the test run's pipeline for a model that is to be compiled."""
        from ..compiler.artifact.model import is_compiled

        return options if is_compiled(model) else {"pipeline": self._settings.pipeline, **options}

    def _compare(self, report: Report, snapshot: bool | str) -> None:
        """Against the snapshot of this name; False = none."""
        from ..results.snapshots import SnapshotFile, summarise

        if not snapshot:
            return
        name = snapshot if isinstance(snapshot, str) else self._node.name
        folder = self._node.path.parent / "adreno_snapshots"
        if self._settings.update:
            folder.mkdir(exist_ok=True)
        file = SnapshotFile(folder / f"{self._node.path.stem}.json", self._settings.update)
        difference = file.difference(name, summarise(report))
        file.save()
        if difference:
            pytest_outcomes.fail(f"{difference}\n(--adreno-update records it)")
