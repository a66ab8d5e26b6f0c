"""Checks the launches of a device; those that are alike share their configuration, which is made once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....base.run_options import RunOptions
from ....base.specs import Argument
from ....device.launch_sizes import require_launch
from ....device.protocol import Kernel
from ....engine.abi.launch_facts import facts_of
from ....engine.caching.kernel_memo import KernelMemo
from ....engine.run.launch_analysis import LaunchAnalysis, analyze_launch
from ....memory.storage import StorageView
from ....profiles.profile import Profile
from .. import limits
from ..arguments import bind_argument, check_arguments
from ..device_warnings import DeviceWarnings
from ..driver_errata import ErrataWatch
from ..group_limits import GroupWatch
from ..program import SimKernel, require_kernel
from .launch_config import LaunchConfig, PreparedLaunch, launch_signature, request_of, specialize_launch

Sizes = Sequence[int]
"""Of the NDRange along each axis."""


class LaunchCache:
    """Launches on `device`, checked as clSetKernelArg and clEnqueueNDRangeKernel do. A DeviceError leaves all memory as it was.

    local_size None: chosen by `limits.choose_local`.
    """

    def __init__(self, device: object, profile: Profile, options: RunOptions, warnings: DeviceWarnings):
        """warnings: gets those about kernels and their groups."""
        self._device, self._profile, self._options, self._warnings = device, profile, options, warnings
        self._errata, self._groups = ErrataWatch(profile, options.all_drivers), GroupWatch(profile)
        self._configs: KernelMemo[LaunchConfig] = KernelMemo()
        self._last: PreparedLaunch | None = None  # launches are often done once more

    def prepare(
        self,
        kernel: Kernel,
        global_size: Sizes,
        local_size: Sizes | None,
        args: Sequence[Argument],
        offset: Sizes | None = None,
    ) -> PreparedLaunch:
        """A checked launch, which may run often."""
        config = self._find(kernel := require_kernel(kernel, self._device), global_size, local_size, args, offset)
        checked = [arg if known is None else known for arg, known in zip(args, config.checked, strict=True)]
        return PreparedLaunch(kernel, config, checked, len(global_size))

    def analyze(
        self,
        kernel: Kernel,
        global_size: Sizes,
        local_size: Sizes | None,
        args: Sequence[Argument],
        offset: Sizes | None = None,
    ) -> tuple[LaunchAnalysis, Sequence[Any]] | None:
        """The facts about a launch that is to come, and its arguments as the kernel reads them; None if it has no work-items. It
        changes nothing that launches see, and warns of nothing: another thread may ask while one runs."""
        known = require_kernel(kernel, self._device)
        total, group, start, checked = self._check(known, global_size, local_size, args, offset)
        return None if 0 in total else (self._analyze(known, total, group, start, checked), checked)

    def recall(
        self,
        kernel: Kernel,
        global_size: Sizes,
        local_size: Sizes | None,
        args: Sequence[Argument],
        offset: Sizes | None = None,
    ) -> PreparedLaunch:
        """The same, of a launch that often is the one before."""
        last = self._last
        if last is None or not last.is_asked(kernel, global_size, local_size, args, offset):
            last = self.prepare(kernel, global_size, local_size, args, offset)
            last.request = request_of(last.kernel, global_size, local_size, args, offset)
            self._last = last
        else:
            self._require_views(last.kernel, last.config, last.args)
        return last

    def forget_last(self) -> None:
        """Hold no views of the launch before any more."""
        self._last = None

    def require_live(self, launch: PreparedLaunch) -> None:
        """CL_INVALID_MEM_OBJECT if a view of a launch was released since it was checked."""
        self._require_views(launch.kernel, launch.config, launch.args)

    def _find(
        self, kernel: SimKernel, global_size: Sizes, local_size: Sizes | None, args: Sequence[Argument], offset: Sizes | None
    ) -> LaunchConfig:
        """Returns the cached configuration of a launch, and checks that its views are live."""
        try:
            signature = launch_signature(args)
            sizes = tuple(global_size), *(None if size is None else tuple(size) for size in (local_size, offset))
        except TypeError:
            require_launch(kernel.name, global_size, local_size, args, offset)
            raise
        if signature is None:
            return self._make(kernel, global_size, local_size, args, offset)
        config = self._configs.get(
            kernel.function,
            kernel.non_uniform,
            *sizes,
            signature,
            make=lambda: self._make(kernel, global_size, local_size, args, offset),
        )
        self._require_views(kernel, config, args)
        return config

    def _require_views(self, kernel: SimKernel, config: LaunchConfig, args: Sequence[Any]) -> None:
        for index in config.views:
            view = args[index]
            if view.device is not self._device or not view.live:
                check_arguments(kernel, args, self._device)  # says what is wrong

    def _make(
        self, kernel: SimKernel, global_size: Sizes, local_size: Sizes | None, args: Sequence[Argument], offset: Sizes | None
    ) -> LaunchConfig:
        """Checks everything, and returns the configuration."""
        total, group, start, checked = self._check(kernel, global_size, local_size, args, offset)
        self._warnings.add(self._errata.look_at(kernel) + self._groups.look_at(kernel, group))
        views = tuple(index for index, arg in enumerate(checked) if isinstance(arg, StorageView))
        known = tuple(None if index in views else arg for index, arg in enumerate(checked))
        analysis = self._analyze(kernel, total, group, start, checked) if 0 not in total else None
        return LaunchConfig(total, start, known, views, tuple(filter(kernel.writes, views)), analysis)

    def _check(
        self, kernel: SimKernel, global_size: Sizes, local_size: Sizes | None, args: Sequence[Argument], offset: Sizes | None
    ) -> tuple[limits.Size, limits.Size, limits.Size, Sequence[Any]]:
        """Returns the NDRange, the size of a group, the offset, and the arguments as the kernel reads them."""
        require_launch(kernel.name, global_size, local_size, args, offset)
        checked = check_arguments(kernel, args, self._device)
        total, group = limits.work_size(kernel, global_size, local_size, self._profile)
        start = limits.global_offset(kernel, global_size, offset)
        limits.check_resources(kernel, checked, self._profile)
        return total, group, start, checked

    def _analyze(
        self, kernel: SimKernel, total: limits.Size, group: limits.Size, start: limits.Size, checked: Sequence[Any]
    ) -> LaunchAnalysis:
        spec = specialize_launch(self._profile, self._options, kernel, total, group, start, checked)
        facts = facts_of(kernel.function, spec, total, start, [bind_argument(arg) for arg in checked])
        return analyze_launch(kernel.function, spec, facts, keep=self._options.cache)
