"""Runs checked launches of a simulated device: its views and shadows made ready, the engine, findings of what it reports."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ....base.errors import DeviceError
from ....base.run_options import RunOptions
from ....device.protocol import LaunchResult, StoreEvent, Watch
from ....engine.run import optimistic, second_run
from ....engine.run.counted import run_counted
from ....engine.run.launch import RawResult
from ....engine.run.launch_analysis import LaunchAnalysis, LaunchVariant
from ....engine.run.launch_analysis import Shadows as ShadowSpecs
from ....memory.storage import StorageView, after_write, before_access
from ....profiles.profile import Profile
from ..memory import SimMemory
from .argument_shadows import ShadowRange, Shadows
from .launch_config import PreparedLaunch
from .left_undefined import sort_out
from .reproducer import report_launch
from .shared_storage import find_shared


class Launcher:
    """Runs launches in `memory`."""

    def __init__(self, profile: Profile, options: RunOptions, memory: SimMemory):
        self._profile, self._options, self._memory = profile, options, memory
        self._shadows = Shadows() if options.checks == "full" else None
        self._settings = {"keep": options.cache, "timeout": options.timeout, "seed": options.seed, "order": options.order}

    def run(self, launch: PreparedLaunch, watch: Watch | None, defers_outputs: bool) -> LaunchResult:
        """Run a launch whose views are live, and wait for it. defers_outputs: as of `left_undefined`."""
        if not self._memory.on_chip.in_use:
            return self._run(launch, watch, defers_outputs)
        return self._memory.on_chip.launch(launch.kernel, launch.args, partial(self._run, launch, watch, defers_outputs))

    def compile(self, analysis: LaunchAnalysis, args: Sequence[Any]) -> None:
        """Make the machine code of a launch as if its arguments held data everywhere, and keep it on disk. Another launch may run
        meanwhile, in another thread."""
        ranges = self._shadows.lay_out(analysis, args, whole=True) if self._shadows else {}
        optimistic.compile_first(analysis.separate_variant(_shadows_of(ranges)), self._options.cache)

    def _run(self, launch: PreparedLaunch, watch: Watch | None, defers_outputs: bool) -> LaunchResult:
        config, args, own = launch.config, launch.args, self._memory.own
        watched = None if watch is None else _find_watched(own(watch.view), watch.element)
        if config.analysis is None:
            return LaunchResult()
        for index in config.views:
            before_access(args[index])
        shared = find_shared(launch, self._options)
        raw = self._execute(launch, config.analysis, watched)
        stores = [_with_value(event, own(watch.view)) for event in raw.stores] if watch else []
        failures = tuple(dict.fromkeys(raw.failures)) if raw.failures else ()
        code = tuple(compiled.code for compiled in raw.ran)
        found, left = sort_out(raw.findings, args, defers_outputs) if raw.findings else ([], [])
        return LaunchResult(shared + found, raw.seconds, stores, raw.printed, raw.accesses, failures, code, raw.counters, left)

    def _execute(self, launch: PreparedLaunch, analysis: LaunchAnalysis, watched: tuple[int, int] | None) -> RawResult:
        """Runs checked arguments whose views are up to date, and marks the written ones."""
        args, options, plain = launch.args, self._options, launch.bind()
        ranges: dict[int, ShadowRange] = {}
        if self._shadows:
            ranges = self._shadows.lay_out(analysis, args)
            bound, epoch = self._shadows.bind(ranges, args, plain, launch.config.total), self._shadows.epoch
            variant = _variant_of(analysis, ranges)
        else:
            variant, bound, epoch = analysis.plain, plain, 1
        run: Callable[..., RawResult] = optimistic.run
        if watched is None and second_run.is_due(variant):
            run = partial(second_run.run, save=partial(report_launch, self._profile.name, options, analysis.spec, launch))
        run = partial(
            run, variant, args=bound, watch_range=watched, first_epoch=epoch,
            threads=options.threads or len(os.sched_getaffinity(0)), **self._settings, **launch.sizes,
        )  # fmt: skip
        if options.counters and watched is None:
            line = self._profile["GLOBAL_MEM_CACHELINE_SIZE"]
            run = partial(run_counted, analysis, plain, run, line, options.cache, timeout=options.timeout, **launch.sizes)
        if self._shadows:
            result = self._shadows.cells.watch(run)
            self._shadows.after(result.last_epoch, ranges, args, marked=not result.deferred)
        else:
            result = run()
        for index in launch.config.written:
            after_write(args[index])
        if result.difference:
            raise second_run.CodeDifference(result.difference)
        return result


def _variant_of(analysis: LaunchAnalysis, ranges: Mapping[int, ShadowRange]) -> LaunchVariant:
    return analysis.variant(_shadows_of(ranges))


def _shadows_of(ranges: Mapping[int, ShadowRange]) -> ShadowSpecs:
    return tuple((index, shadow_range.spec) for index, shadow_range in ranges.items())


def _find_watched(view: StorageView, element: int) -> tuple[int, int]:
    """Returns the addresses from which and up to which an element lies. DeviceError CL_INVALID_VALUE if there is none."""
    try:
        return view.element_range(element)
    except IndexError as error:
        raise DeviceError("CL_INVALID_VALUE", f"watch: {error}") from None


def _with_value(event: StoreEvent, view: StorageView) -> StoreEvent:
    """Returns the event with the element's value in place of its bits."""
    dtype = view.array().dtype
    value = np.frombuffer(int(event.value).to_bytes(8, "little")[: dtype.itemsize], dtype)[0]
    return replace(event, value=value.item())
