"""The simulated Device: a front over its memory, its checked launches and what runs them; it builds programs itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...base.errors import UnsupportedError
from ...base.run_options import RunOptions
from ...base.specs import Argument, ImageSpec, View, ViewSpec
from ...base.specs import Storage as AnyStorage
from ...device.group_sample import ROWS, SampledLaunch, Tracing
from ...device.inspection import LaunchProofs
from ...device.protocol import Kernel, LaunchResult, PoolStats, Watch
from ...engine.emit.c_runtime import begin_runtime
from ...findings import Finding
from ...frontend.options import parse_options
from ...frontend.program import compile_source, open_source
from ...ir.nonfinite_constants import nonfinite_constants
from ...ir.printer import print_function
from ...memory.heap import Heap
from ...memory.storage import Storage, StorageView
from ...profiles.ml import why_no_graphs
from ...profiles.profile import Profile
from .device_warnings import DeviceWarnings
from .group_counts import count_sample
from .group_limits import refuse_required_groups
from .info import device_info, front_end_target
from .kernel_facts import analyse_kernel
from .launches.launch_cache import LaunchCache, Sizes
from .launches.launch_config import PreparedLaunch
from .launches.launcher import Launcher
from .memory import SimMemory
from .program import SimProgram, allows_non_uniform, require_kernel

if TYPE_CHECKING:
    from ...frontend.units import SourceUnit
    from ...mlops.engine import SubgraphProgram, Workspace
    from ...mlops.graph import Graph


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
        self._warnings = DeviceWarnings()
        self.memory = SimMemory(self, profile, options, heap, self._warnings)
        self.on_chip = self.memory.on_chip
        self._launches = LaunchCache(self, profile, options, self._warnings)
        self._launcher = Launcher(profile, options, self.memory)
        self._ml: Workspace | None = None
        self.defers_outputs = False

    # -- memory

    def allocate(self, nbytes: int) -> Storage:
        """As `SimMemory.allocate`."""
        return self.memory.allocate(nbytes)

    def borrow(self, array: np.ndarray) -> Storage | None:
        """As `SimMemory.borrow`."""
        return self.memory.borrow(array)

    def free(self, storage: AnyStorage) -> None:
        """As `SimMemory.free`."""
        self._launches.forget_last()  # it may hold views of this storage
        self.memory.free(storage)

    def view(self, storage: AnyStorage, spec: ViewSpec, offset: int = 0) -> StorageView:
        """As `SimMemory.view`."""
        return self.memory.view(storage, spec, offset)

    def create_image(self, spec: ImageSpec) -> StorageView:
        """As `SimMemory.create_image`."""
        return self.memory.create_image(spec)

    def view_nbytes(self, spec: ViewSpec) -> int:
        """As `SimMemory.view_nbytes`."""
        return self.memory.view_nbytes(spec)

    def pool_stats(self) -> PoolStats:
        """As `SimMemory.pool_stats`."""
        return self.memory.pool_stats()

    # -- data

    def write(self, view: View, array: np.ndarray) -> None:
        """As `SimMemory.write`."""
        self.memory.write(view, array)

    def read(self, view: View) -> np.ndarray:
        """As `SimMemory.read`."""
        return self.memory.read(view)

    def copy(self, source: View, target: View) -> None:
        """As `SimMemory.copy`."""
        self.memory.copy(source, target)

    def discard(self, view: View) -> None:
        """As `SimMemory.discard`."""
        self.memory.discard(view)

    # -- programs

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
        from ...frontend.units import compile_unit

        return compile_unit(source, options, headers, target=front_end_target(self.profile, self.options))

    def link(self, units: Sequence[SourceUnit], options: str = "") -> SimProgram:
        """The program of compiled sources, as of clLinkProgram. BuildError for a function that is missing or there twice."""
        parse_options(options, self.profile.extensions | self.profile.compiler_extensions)
        from ...frontend.units import link_units

        non_uniform = any(allows_non_uniform(unit.options) for unit in units)
        finite = self.options.finite_math == "folded" and any(parse_options(unit.options).finite_math for unit in units)
        return refuse_required_groups(SimProgram(link_units(units, finite), self, non_uniform, options), self.profile)

    def build_graph(
        self, graph: Graph, constants: Mapping[str, np.ndarray], name: str = "", given_memory: bool = False
    ) -> SubgraphProgram:
        """Make a graph of OpenCL ML operators ready; see mlops.engine."""
        if self.info.ml is None:
            raise UnsupportedError(f"unsupported: {why_no_graphs(self.info.name, self.info.extensions)}")
        from ...mlops.engine import SubgraphProgram, Workspace  # OpenCL ML, which few use

        if self._ml is None:
            self._ml = Workspace(self, self.info.ml, self.info.name)
        return SubgraphProgram(self._ml, graph, constants, name, given_memory=given_memory)

    # -- launches

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
        launch = self._launches.recall(kernel, global_size, local_size, args, offset)
        return self._launcher.run(launch, watch, self.defers_outputs)

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
        return self._launches.prepare(kernel, global_size, local_size, args, offset)

    def run_prepared(self, launch: PreparedLaunch) -> LaunchResult:
        """Run a launch once more. DeviceError CL_INVALID_MEM_OBJECT if a view was released since."""
        self._launches.require_live(launch)
        return self._launcher.run(launch, None, self.defers_outputs)

    def begin_compiler(self) -> None:
        """Have a thread make what the machine code of every kernel needs, before any does."""
        begin_runtime()

    def compile_launch(
        self,
        kernel: Kernel,
        global_size: Sizes,
        local_size: Sizes | None,
        args: Sequence[Argument],
        *,
        offset: Sizes | None = None,
    ) -> None:
        """Make the machine code of a launch whose arguments hold data everywhere, and keep it on disk. Errors as of `launch`. A
        launch may run meanwhile, in another thread."""
        found = self._launches.analyze(kernel, global_size, local_size, args, offset)
        if found is not None:
            self._launcher.compile(*found)

    def finish(self) -> None:
        """Nothing: every call waits for its end."""

    def take_warnings(self) -> list[Finding]:
        """Findings about the device rather than one launch, each given once."""
        return self._warnings.take() + self.on_chip.take_warnings()

    # -- inspection

    def print_ir(self, kernel: Kernel) -> str:
        """The kernel IR that the engine gets."""
        return print_function(require_kernel(kernel, self).function)

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
        analysis = self.prepare(kernel, global_size, local_size, args, offset=offset).config.analysis
        return LaunchProofs(kernel.name) if analysis is None else analysis.explained

    def nonfinite_constants(self, kernel: Kernel) -> tuple[str, ...]:
        """Which of NaN and the infinities the kernel's code names."""
        return nonfinite_constants(require_kernel(kernel, self).function)

    def count_groups(
        self, kernel: Kernel, global_size: Sizes, local_size: Sizes | None, args: Sequence[Argument], tracing: Tracing = ROWS
    ) -> SampledLaunch:
        """What some groups of a launch do, as of `GroupCounter`."""
        launch = self.prepare(kernel, global_size, local_size, args)
        return count_sample(launch, self.profile["GLOBAL_MEM_CACHELINE_SIZE"], self.options, tracing)
