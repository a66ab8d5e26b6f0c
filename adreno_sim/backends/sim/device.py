"""The simulated Device: memory, programs and launches under a profile's rules."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ...base.errors import DeviceError, UnsupportedError
from ...base.run_options import RunOptions
from ...base.specs import Argument, BufferSpec, ImageSpec, View, ViewSpec
from ...base.specs import Storage as AnyStorage
from ...device.group_sample import ROWS, SampledLaunch, Tracing
from ...device.inspection import LaunchProofs
from ...device.launch_sizes import require_launch
from ...device.protocol import Kernel, LaunchResult, PoolStats, Watch
from ...engine.abi.launch_facts import facts_of
from ...engine.caching.kernel_memo import KernelMemo
from ...engine.emit.c_runtime import begin_runtime
from ...engine.run import optimistic, second_run
from ...engine.run.counted import run_counted
from ...engine.run.launch import RawResult
from ...engine.run.launch_analysis import LaunchAnalysis, LaunchVariant, analyze_launch
from ...findings import Finding
from ...frontend.options import parse_options
from ...frontend.program import compile_source, open_source
from ...frontend.units import SourceUnit, compile_unit, link_units
from ...image.layout import own_layout_of
from ...ir.nonfinite_constants import nonfinite_constants
from ...ir.printer import print_function
from ...memory.heap import Heap
from ...memory.pool import PagedPool, TexturePool
from ...memory.spilled import pages_of
from ...memory.storage import PAGE, MemoryBlock, Storage, StorageView, after_write, before_access, copy_marks
from ...mlops.engine import SubgraphProgram, Workspace
from ...mlops.graph import Graph
from ...profiles.ml import why_no_graphs
from ...profiles.profile import Profile
from . import limits
from .argument_shadows import ShadowRange, Shadows
from .arguments import bind_argument, check_arguments
from .driver_errata import ErrataWatch
from .group_counts import count_sample
from .group_limits import GroupWatch, refuse_required_groups
from .info import device_info, front_end_target
from .kernel_facts import analyse_kernel
from .launch_config import LaunchConfig, PreparedLaunch, launch_signature, request_of, specialize_launch
from .left_undefined import sort_out
from .on_chip import SimOnChip
from .program import SimKernel, SimProgram, allows_non_uniform
from .reproducer import report_launch
from .shared_storage import find_shared
from .views import ViewMaker
from .watching import find_watched, with_value

Sizes = Sequence[int]
"""Of the NDRange along each axis."""


class SimDevice:
    """A device of `profile`. Not for use by several threads at once; a launch uses threads of its own.

    Views see the bytes of their storage, images through the profile's pitch rule. Where the profile has no image of a kind
    over a buffer, such a view is a separate image: either side first copies what the other changed, and take_warnings() says so.
    """

    def __init__(self, profile: Profile, options: RunOptions, heap: Heap | None = None):
        """heap: where all its memory lies; without it, in this process. defers_outputs may be set: as of `left_undefined`."""
        if options.pitch_rule:
            profile = profile.with_values({"pitch_rule": options.pitch_rule})
        self.profile, self.options, self.info = profile, options, device_info(profile)
        full = options.checks == "full"
        self._shadows, self._errata = Shadows() if full else None, ErrataWatch(profile, options.all_drivers)
        self._groups = GroupWatch(profile)
        self._memory = limits.memory_of(profile, options.seed, full, heap)
        self._pool = PagedPool(self._memory, profile["page_size"], keep=options.pool != "none")
        self._textures = TexturePool(self._memory) if options.pool == "legacy" else None
        self._views = ViewMaker(self, profile, self._memory, self._image_memory)
        self._storages: set[Storage] = set()
        self.on_chip = SimOnChip(profile, self._memory, self._storages)
        self._configs: KernelMemo[LaunchConfig] = KernelMemo()
        self.defers_outputs, self._peak_used = False, 0
        self._ml: Workspace | None = None
        self._last: PreparedLaunch | None = None  # launches are often done once more

    # -- memory

    def allocate(self, nbytes: int) -> Storage:
        """Storage of `nbytes`. CL_INVALID_BUFFER_SIZE, or CL_MEM_OBJECT_ALLOCATION_FAILURE when memory is full."""
        return self._register(self._pool.allocate(int(nbytes)))

    def borrow(self, array: np.ndarray) -> Storage | None:
        """Storage over the bytes of an array that lies in whole pages of a file, to be read only; None for another array."""
        pages = pages_of(array)
        if pages is None or self._memory.is_shared or self.profile["page_size"] != PAGE:
            return None
        return self._register(self._pool.borrow(pages, array.nbytes))

    def allocate_for(self, spec: ViewSpec) -> Storage:
        """Storage for one view of `spec`; with pool=legacy, 2D images get a texture of the legacy pool."""
        if self._textures is None or not isinstance(spec, ImageSpec) or spec.kind != "image2d":
            return self.allocate(self.view_nbytes(spec))
        textures = self._textures
        return self._register(self._pool.retry_after_release(lambda: self._views.texture(textures, spec)))

    def free(self, storage: AnyStorage) -> None:
        """Return `storage` to the pool; its views cannot be used any more. CL_INVALID_MEM_OBJECT if it was freed before."""
        ours = self._live(storage)
        ours.live = False
        self._last = None  # it may hold views of this storage
        self._storages.remove(ours)
        for view in list(ours.views):
            view.end()
        if self._textures and self._textures.owns(ours):
            self._textures.free(ours)
        elif not self.on_chip.release(ours):
            self._pool.free(ours)

    def view(self, storage: AnyStorage, spec: ViewSpec, offset: int = 0) -> StorageView:
        """A view of `spec` at byte `offset`. Raises the error of clCreateSubBuffer or clCreateImage where one would."""
        ours = self._live(storage)
        view = self._views.buffer(ours, spec, offset) if isinstance(spec, BufferSpec) else self._views.image(ours, spec, offset)
        self._note_use()
        return view

    def create_image(self, spec: ImageSpec) -> StorageView:
        """An image with memory of its own, as clCreateImage without a buffer makes it; `free` its storage."""
        limits.check_image(spec, self.profile)
        storage = self.allocate(own_layout_of(spec, self.profile).nbytes)
        return self._views.image_alone(storage, spec)

    def view_nbytes(self, spec: ViewSpec) -> int:
        """Bytes of storage a view of `spec` needs on this device, pitch padding included."""
        return spec.nbytes if isinstance(spec, BufferSpec) else self._views.image_nbytes(spec)

    def pool_stats(self) -> PoolStats:
        """Whole pages. `used` includes separate images; `peak_reserved` is the most memory the device ever gave out."""
        return PoolStats(self._used(), self._memory.reserved, self._peak_used, self._memory.peak)

    # -- data

    def write(self, view: View, array: np.ndarray) -> None:
        """Replace the elements of `view` by `array`, of the same dtype and as many elements, in logical order."""
        ours = self._current(view, "writes")
        target, given = ours.array(), np.asarray(array)
        if given.dtype != target.dtype or given.size != target.size:
            raise DeviceError(
                "CL_INVALID_VALUE",
                f"write of {given.size} {given.dtype} elements to a view of {target.size} {target.dtype} elements",
            )
        target[...] = given.reshape(target.shape)
        ours.mark()
        after_write(ours)

    def read(self, view: View) -> np.ndarray:
        """A copy of the elements: (count,) of a buffer, (layers, height, width, channels) of an image."""
        return self._current(view, "reads").array().copy()

    def copy(self, source: View, target: View) -> None:
        """Copy all elements in logical order; views of the same dtype and number of elements, of any kind."""
        origin, into = self._current(source, "copies"), self._current(target, "copies")
        data, room = origin.array(), into.array()
        if data.dtype != room.dtype or data.size != room.size:
            raise DeviceError(
                "CL_INVALID_VALUE", f"copy of {data.size} {data.dtype} elements to a view of {room.size} {room.dtype} elements"
            )
        room[...] = data.reshape(room.shape)
        copy_marks(origin, into)
        after_write(into)

    def discard(self, view: View) -> None:
        """Make the bytes of `view` what those of fresh memory are: NaNs, and at level full unwritten."""
        ours = self._current(view)
        start = 0 if ours.separate else ours.offset
        ours.block.poison(start, start + (ours.layout.nbytes if ours.layout is not None else ours.nbytes))
        after_write(ours)

    # -- kernels

    def build(self, source: str, options: str = "") -> SimProgram:
        """Compile `source`. BuildError with the compiler's diagnostics, UnsupportedError for what the engine lacks."""
        if self.options.cache:
            module = open_source(source, options, target=front_end_target(self.profile, self.options), analyse=analyse_kernel)
        else:
            module = compile_source(source, options, target=front_end_target(self.profile, self.options))
        return refuse_required_groups(SimProgram(module, self, allows_non_uniform(options), options), self.profile)

    def compile(self, source: str, options: str = "", headers: Mapping[str, str] | None = None) -> SourceUnit:
        """Compile `source` for `link`, as clCompileProgram does; `headers` are files that it includes, by name. Errors as of
        `build`."""
        return compile_unit(source, options, headers, target=front_end_target(self.profile, self.options))

    def link(self, units: Sequence[SourceUnit], options: str = "") -> SimProgram:
        """The program of compiled sources, as of clLinkProgram. BuildError for a function that is missing or there twice."""
        parse_options(options, self.profile.extensions | self.profile.compiler_extensions)
        non_uniform = any(allows_non_uniform(unit.options) for unit in units)
        finite = self.options.finite_math == "folded" and any(parse_options(unit.options).finite_math for unit in units)
        return refuse_required_groups(SimProgram(link_units(units, finite), self, non_uniform, options), self.profile)

    def launch(
        self,
        kernel: Kernel,
        global_size: Sizes,
        local_size: Sizes | None,
        args: Sequence[Argument],
        *,
        watch: Watch | None = None,
        offset: Sizes | None = None,
    ) -> LaunchResult:
        """Run `kernel` over `global_size` work-items, whose global ids begin at `offset`, and wait for it.

        Everything is checked first, as clSetKernelArg and clEnqueueNDRangeKernel would; a DeviceError leaves all memory as
        it was. local_size None: chosen by `limits.choose_local`. Defects that show while running are the result's findings.
        """
        last = self._last
        if last is None or not last.is_asked(kernel, global_size, local_size, args, offset):
            last = self.prepare(kernel, global_size, local_size, args, offset=offset)
            last.request = request_of(last.kernel, global_size, local_size, args, offset)
            self._last = last
        else:
            self._check_live(last.kernel, last.config, last.args)
        return self._run_prepared(last, watch)

    def prepare(
        self,
        kernel: Kernel,
        global_size: Sizes,
        local_size: Sizes | None,
        args: Sequence[Argument],
        *,
        offset: Sizes | None = None,
    ) -> PreparedLaunch:
        """Check a launch that is to run often, which `run_prepared` does. Errors as of `launch`."""
        config = self._config(kernel := self._own_kernel(kernel), global_size, local_size, args, offset)
        checked = [arg if known is None else known for arg, known in zip(args, config.checked, strict=True)]
        return PreparedLaunch(kernel, config, checked, len(global_size))

    def begin_compiler(self) -> None:
        """Have a thread make what the machine code of every kernel needs, before any does."""
        begin_runtime()

    def compile_launch(self, kernel: Kernel, global_size: Sizes, local_size: Sizes | None, args: Sequence[Argument]) -> None:
        """Make the machine code of a launch whose arguments hold data everywhere, and keep it on disk. Errors as of `launch`."""
        launch = self.prepare(kernel, global_size, local_size, args)
        analysis = launch.config.analysis
        if analysis is None:
            return
        for index in launch.config.views:
            launch.args[index].mark()
        ranges = self._shadows.lay_out(analysis, launch.args) if self._shadows else {}
        optimistic.compile_first(self._variant(analysis, ranges), self.options.cache)

    def run_prepared(self, launch: PreparedLaunch) -> LaunchResult:
        """Run a launch once more. DeviceError CL_INVALID_MEM_OBJECT if a view was released since."""
        self._check_live(launch.kernel, launch.config, launch.args)
        return self._run_prepared(launch, None)

    def _run_prepared(self, launch: PreparedLaunch, watch: Watch | None) -> LaunchResult:
        return self.on_chip.launch(launch.kernel, launch.args, partial(self._run_checked, launch, watch))

    def _run_checked(self, launch: PreparedLaunch, watch: Watch | None) -> LaunchResult:
        config, args = launch.config, launch.args
        watched = None if watch is None else find_watched(self._own(watch.view), watch.element)
        if config.analysis is None:
            return LaunchResult()
        for index in config.views:
            before_access(args[index])
        shared = find_shared(self, launch)
        raw = self._run(launch, config.analysis, watched)
        stores = [with_value(event, self._own(watch.view)) for event in raw.stores] if watch else []
        failures = tuple(dict.fromkeys(raw.failures)) if raw.failures else ()
        code = tuple(compiled.code for compiled in raw.ran)
        found, left = sort_out(raw.findings, args, self.defers_outputs)
        return LaunchResult(shared + found, raw.seconds, stores, raw.printed, raw.accesses, failures, code, raw.counters, left)

    def print_ir(self, kernel: Kernel) -> str:
        """The kernel IR that the engine gets."""
        return print_function(self._own_kernel(kernel).function)

    def explain(
        self,
        kernel: Kernel,
        global_size: Sizes,
        local_size: Sizes | None,
        args: Sequence[Argument],
        *,
        offset: Sizes | None = None,
    ) -> LaunchProofs:
        """What is proven of a launch at level bounds, and also what level full relies on. Errors as of `launch`."""
        analysis = self._config(self._own_kernel(kernel), global_size, local_size, args, offset).analysis
        return LaunchProofs(kernel.name) if analysis is None else analysis.explained

    def nonfinite_constants(self, kernel: Kernel) -> tuple[str, ...]:
        """Which of NaN and the infinities the kernel's code names."""
        return nonfinite_constants(self._own_kernel(kernel).function)

    def count_groups(
        self, kernel: Kernel, global_size: Sizes, local_size: Sizes | None, args: Sequence[Argument], tracing: Tracing = ROWS
    ) -> SampledLaunch:
        """What some groups of a launch do, as of `GroupCounter`."""
        line = self.profile["GLOBAL_MEM_CACHELINE_SIZE"]
        return count_sample(self.prepare(kernel, global_size, local_size, args), line, self.options, tracing)

    def build_graph(
        self, graph: Graph, constants: Mapping[str, np.ndarray], name: str = "", given_memory: bool = False
    ) -> SubgraphProgram:
        """Make a graph of OpenCL ML operators ready; see mlops.engine."""
        if self.info.ml is None:
            raise UnsupportedError(f"unsupported: {why_no_graphs(self.info.name, self.info.extensions)}")
        if self._ml is None:
            self._ml = Workspace(self, self.info.ml, self.info.name)
        return SubgraphProgram(self._ml, graph, constants, name, given_memory=given_memory)

    def finish(self) -> None:
        """Nothing: every call waits for its end."""

    def take_warnings(self) -> list[Finding]:
        """Findings about the device rather than one launch, each given once."""
        return self._views.take_warnings() + self.on_chip.take_warnings()

    # -- inside

    def _config(
        self,
        kernel: SimKernel,
        global_size: Sizes,
        local_size: Sizes | None,
        args: Sequence[Argument],
        offset: Sizes | None = None,
    ) -> LaunchConfig:
        """Returns the cached configuration of a launch, and checks that its views are live. Raises as `launch` does."""
        try:
            signature = launch_signature(args)
            sizes = tuple(global_size), *(None if size is None else tuple(size) for size in (local_size, offset))
        except TypeError:
            require_launch(kernel.name, global_size, local_size, args, offset)
            raise
        if signature is None:
            return self._make_config(kernel, global_size, local_size, args, offset)
        config = self._configs.get(
            kernel.function,
            kernel.non_uniform,
            *sizes,
            signature,
            make=lambda: self._make_config(kernel, global_size, local_size, args, offset),
        )
        self._check_live(kernel, config, args)
        return config

    def _check_live(self, kernel: SimKernel, config: LaunchConfig, args: Sequence[Any]) -> None:
        for index in config.views:
            view = args[index]
            if view.device is not self or not view.live:
                check_arguments(kernel, args, self)  # says what is wrong

    def _make_config(
        self, kernel: SimKernel, global_size: Sizes, local_size: Sizes | None, args: Sequence[Argument], offset: Sizes | None
    ) -> LaunchConfig:
        """Checks everything as clSetKernelArg and clEnqueueNDRangeKernel do, and returns the configuration."""
        require_launch(kernel.name, global_size, local_size, args, offset)
        checked = check_arguments(kernel, args, self)
        total, group = limits.work_size(kernel, global_size, local_size, self.profile)
        start = limits.global_offset(kernel, global_size, offset)
        limits.check_resources(kernel, checked, self.profile)
        self._views.warnings += self._errata.look_at(kernel) + self._groups.look_at(kernel, group)
        views = tuple(index for index, arg in enumerate(checked) if isinstance(arg, StorageView))
        known = tuple(None if index in views else arg for index, arg in enumerate(checked))
        analysis = self._analyze(kernel, total, group, start, checked) if 0 not in total else None
        return LaunchConfig(total, start, known, views, tuple(filter(kernel.writes, views)), analysis)

    def _analyze(
        self, kernel: SimKernel, total: limits.Size, group: limits.Size, start: limits.Size, checked: Sequence[Any]
    ) -> LaunchAnalysis:
        spec = specialize_launch(self.profile, self.options, kernel, total, group, start, checked)
        facts = facts_of(kernel.function, spec, total, start, [bind_argument(arg) for arg in checked])
        return analyze_launch(kernel.function, spec, facts, keep=self.options.cache)

    def _run(self, launch: PreparedLaunch, analysis: LaunchAnalysis, watched: tuple[int, int] | None) -> RawResult:
        """Runs checked arguments whose views are up to date, and marks the written ones."""
        args, options, plain = launch.args, self.options, launch.bind()
        ranges: dict[int, ShadowRange] = {}
        if self._shadows:
            ranges = self._shadows.lay_out(analysis, args)
            variant, bound, epoch = self._variant(analysis, ranges), self._shadows.bind(ranges, args, plain), self._shadows.epoch
        else:
            variant, bound, epoch = analysis.plain, plain, 1
        threads = options.threads or len(os.sched_getaffinity(0))
        run = partial(second_run.run, variant, args=bound, watch_range=watched, keep=options.cache, first_epoch=epoch)
        run = partial(run, save=partial(report_launch, self.info.name, options, analysis.spec, launch))
        run = partial(run, threads=threads, timeout=options.timeout, seed=options.seed, order=options.order, **launch.sizes)
        if options.counters and watched is None:
            line = self.profile["GLOBAL_MEM_CACHELINE_SIZE"]
            result = run_counted(analysis, plain, run, line, options.cache, timeout=options.timeout, **launch.sizes)
        else:
            result = run()
        if self._shadows:
            self._shadows.after(result.last_epoch, ranges, args, marked=not result.deferred)
        for index in launch.config.written:
            after_write(args[index])
        if result.difference:
            raise second_run.CodeDifference(result.difference)
        return result

    def _variant(self, analysis: LaunchAnalysis, ranges: Mapping[int, ShadowRange]) -> LaunchVariant:
        return analysis.variant(tuple((index, shadow_range.spec) for index, shadow_range in ranges.items()))

    def _current(self, view: object, does: str = "") -> StorageView:
        """Returns a live view of this device, with its bytes up to date. does: what the host does with it."""
        ours = self._own(view)
        if does and self.on_chip.in_use:
            self.on_chip.note_host(ours, does)
        before_access(ours)
        return ours

    def _own(self, view: object) -> StorageView:
        if not isinstance(view, StorageView) or view.device is not self:
            raise DeviceError("CL_INVALID_MEM_OBJECT", f"{view!r:.60} is not a view of this device")
        if not view.live:
            raise DeviceError("CL_INVALID_MEM_OBJECT", "a view that is released, or whose storage was freed")
        return view

    def _own_kernel(self, kernel: Kernel) -> SimKernel:
        if not isinstance(kernel, SimKernel) or kernel.device is not self:
            what = f"kernel {kernel.name} was built by another device" if hasattr(kernel, "name") else f"{kernel!r} is no kernel"
            raise DeviceError("CL_INVALID_KERNEL", what)
        return kernel

    def _live(self, storage: object) -> Storage:
        if not isinstance(storage, Storage) or storage not in self._storages:
            raise DeviceError("CL_INVALID_MEM_OBJECT", "storage that was freed, or is not of this device")
        return storage

    def _image_memory(self, nbytes: int) -> MemoryBlock:
        return self._pool.retry_after_release(lambda: self._memory.take(nbytes))

    def _used(self) -> int:
        kept = self._pool.kept + (self._textures.kept if self._textures else 0)
        return self._memory.reserved - kept

    def _register(self, storage: Storage) -> Storage:
        self._storages.add(storage)
        self._note_use()
        return storage

    def _note_use(self) -> None:
        self._peak_used = max(self._peak_used, self._used())
