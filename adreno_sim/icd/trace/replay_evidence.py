"""What the page of a replay shows of its launches: all as a list, of those with findings arrays and the stores to an element."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...base.errors import AdrenoSimError
from ...base.specs import BufferSpec, View
from ...device.protocol import LaunchResult, Watch
from ...findings import Finding, Severity
from ...memory.storage import StorageView
from ...results.evidence import CallNote, Evidence, find_element
from ...results.run_report import HostCall
from ...results.stores import describe_stores
from ..launches import DriverLaunch
from .elements import as_elements, element_type
from .launch_point import LaunchPoint, open_launch

MOST_LAUNCHES = 3
"""Launches with findings that are taken out of the recording: all that comes before each is played again."""
MOST_FINDINGS = 4
"""Findings of such a launch for whose stores it runs again."""


class ReplayEvidence:
    """Notified of each checked launch, as a `LaunchObserver`; `gather` then looks into those with findings."""

    def __init__(self) -> None:
        self.evidence = Evidence()
        self._found: dict[int, list[Finding]] = {}
        self._kernels: set[str] = set()

    def begin(self, number: int, launch: DriverLaunch, call: HostCall) -> None:
        """A launch is about to run."""
        names = [
            (" ".join(words.split()[:2]), launch.kernel.writes(index))
            for index, (value, words) in enumerate(zip(launch.arguments, launch.described, strict=True))
            if isinstance(value, StorageView)
        ]
        reads, writes = (tuple(name for name, written in names if written is wanted) for wanted in (False, True))
        note = launch.kernel.name, launch.global_size, launch.local_size or ()
        self.evidence.add_call(CallNote(launch.kernel.name, f"launch {number}", (note,), reads, writes, call.number))

    def end(self, number: int, launch: DriverLaunch, result: LaunchResult) -> None:
        """A launch has run. The first one of a kernel that has findings about an argument is kept in mind."""
        found = [one for one in result.findings if one.access is not None and one.severity > Severity.NOTE]
        if found and launch.kernel.name not in self._kernels:
            self._kernels.add(launch.kernel.name)
            self._found[number] = found

    def gather(self, path: str, device: str | None, time_limit: float, options: Mapping[str, Any]) -> Evidence:
        """Take the launches with findings out of the recording at `path`, and run them. device, options: as of `open_launch`."""
        for number, findings in list(self._found.items())[:MOST_LAUNCHES]:
            try:
                with open_launch(path, number, device=device, time_limit=time_limit, **options) as point:
                    self._look_at(point, findings[:MOST_FINDINGS])
            except AdrenoSimError as error:
                self.evidence.cut[f"what launch {number} stores where: {error}"] = None
        if len(self._found) > MOST_LAUNCHES:
            self.evidence.cut[f"what launches with findings behind the first {MOST_LAUNCHES} store where"] = None
        return self.evidence

    def _look_at(self, point: LaunchPoint, findings: list[Finding]) -> None:
        launch, device = point.launch, point.device
        views = {
            param.name: (param, value)
            for param, value in zip(launch.kernel.params, launch.arguments, strict=True)
            if isinstance(value, StorageView)
        }
        before = {name: np.array(view.array()) for name, (_, view) in views.items()}
        around: dict[str, int] = {}
        for finding in findings:
            name = finding.access.view if finding.access is not None else ""
            if name not in views:
                continue
            param, view = views[name]
            dtype = element_type(param, before[name])
            element = find_element(finding, as_elements(before[name], param).shape, dtype.itemsize)
            around.setdefault(name, max(0, element))
            if element < 0:
                continue
            for restored, (_, other) in views.items():
                other.array()[...] = before[restored]
            seen: View = view
            if view.layout is None and dtype != before[name].dtype:  # the driver's buffers are bytes
                seen = device.view(view.storage, BufferSpec(before[name].nbytes, dtype.name), view.offset)
            watch = Watch(seen, element)
            result = device.launch(
                launch.kernel, launch.global_size, launch.local_size, launch.arguments, watch=watch, offset=launch.offset
            )
            self.evidence.stores.append((finding, describe_stores(result.stores, launch.kernel.name, launch.source)))
        for name, (param, view) in views.items():
            array = as_elements(np.array(view.array()), param)
            is_image = view.layout is not None
            self.evidence.add_array(name, launch.kernel.name, array, is_image=is_image, around=around.get(name, 0))
