"""What a replay says of the launches that it checks, one by one: a list, counters, predicted times, the inside of kernels."""

from __future__ import annotations

from collections.abc import Callable, Collection

from ...backends.machine_code import compile_for_chips
from ...backends.sim.device import SimDevice
from ...base.errors import DeviceError, UnsupportedError
from ...device.counters import LaunchCounters
from ...device.inspection import IR, ISA, LLVM, PROOFS, Inside
from ...device.protocol import LaunchResult
from ...results.run_report import HostCall, LaunchRow
from ...results.time_report import TimeReport
from ..launches import DriverLaunch, LaunchObserver
from ..watches.launch_times import TimesWatch


class LaunchWatch:
    """What is asked of all launches of a recording. lists: of each launch a row; times: its predicted time; dumps: what of the
    inside of each kernel's first launch is shown, by `show`.

    counters: by kernel, of a device that counts. time: None if nobody asks. also: notified of each launch, too.
    """

    def __init__(
        self,
        *,
        lists: bool = False,
        times: bool = False,
        dumps: Collection[str] = (),
        show: Callable[[Inside], None],
        also: LaunchObserver | None = None,
    ):
        self.also = also
        self.lists, self.times, self._dumps, self._show = lists, times, frozenset(dumps), show
        self.counters: dict[str, LaunchCounters] = {}
        self.time: TimeReport | None = None
        self._shown: set[str] = set()

    @property
    def asks(self) -> bool:
        return self.lists or self.times or bool(self._dumps)

    def of_process(self, device: SimDevice, say: Callable[[str], None]) -> ProcessWatch:
        """What is shown of the launches of one process, which has its own device. say: of `ProcessWatch`."""
        times = TimesWatch(device, self.time) if self.times else None
        if times is not None:
            self.time = times.report
        return ProcessWatch(self, device, times, say)

    def parts_of(self, kernel: str) -> frozenset[str]:
        """What is to be shown of a launch of a kernel: nothing once it has been."""
        wanted = frozenset() if kernel in self._shown else self._dumps
        self._shown.add(kernel)
        return wanted

    def show(self, inside: Inside) -> None:
        """Show the facts about a launch."""
        self._show(inside)


class ProcessWatch:
    """A `LaunchObserver`. rows: the launches of its process, if they are listed. say: gets the reason if something cannot be
    shown.
    """

    def __init__(self, whole: LaunchWatch, device: SimDevice, times: TimesWatch | None, say: Callable[[str], None]):
        self._whole, self._device, self._times, self._say = whole, device, times, say
        self._shows_code = False
        self.rows: list[LaunchRow] = []

    def begin(self, number: int, launch: DriverLaunch, call: HostCall) -> None:
        """A launch is about to run."""
        if self._whole.also is not None:
            self._whole.also.begin(number, launch, call)
        predicted = self._times.predict(launch) if self._times is not None else None
        if self._whole.lists:
            sizes = call.global_size, call.local_size, call.offset
            self.rows.append(LaunchRow(number, call.number, launch.kernel.name, *sizes, call.arguments, predicted=predicted))
        wanted = self._whole.parts_of(launch.kernel.name)
        self._shows_code = LLVM in wanted
        if wanted - {LLVM}:
            self._look_inside(Inside(wanted - {LLVM}), launch)

    def end(self, number: int, launch: DriverLaunch, result: LaunchResult) -> None:
        """A launch has run."""
        if self._whole.also is not None:
            self._whole.also.end(number, launch, result)
        if self._whole.lists:
            self.rows[-1].seconds = result.device_seconds or 0.0
        if result.counters is not None:
            known = self._whole.counters.get(launch.kernel.name)
            self._whole.counters[launch.kernel.name] = result.counters if known is None else known + result.counters
        if self._shows_code:
            self._whole.show(Inside(frozenset((LLVM,)), code=result.code))

    def _look_inside(self, inside: Inside, launch: DriverLaunch) -> None:
        if IR in inside.wanted:
            inside.ir = self._device.print_ir(launch.kernel)
        try:
            if PROOFS in inside.wanted:
                sizes = launch.global_size, launch.local_size
                inside.proofs = self._device.explain(launch.kernel, *sizes, launch.arguments, offset=launch.offset)
            if ISA in inside.wanted:
                inside.machine_code = compile_for_chips(self._device, launch.kernel, ())
        except (DeviceError, UnsupportedError) as error:
            self._say(f"kernel {launch.kernel.name}: its inside is not shown: {error}")
        self._whole.show(inside)
