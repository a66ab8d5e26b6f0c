"""A launch of a recording under the debugger, at its moment."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from ...backends.sim.debugging import build_for_debugging, prepare_debugging
from ...base.errors import OptionError, UnsupportedError
from ...debugger.open import Debuggee
from ...icd.trace.launch_point import open_launch


@contextlib.contextmanager
def open_recorded(path: str, number: str | None, device: str | None) -> Iterator[Debuggee]:
    """Plays a recording up to a launch, by its number, and makes that ready for the debugger. Errors as of `open_launch`;
    UnsupportedError for a launch whose program is not one source, or whose kernel reaches memory that no argument names."""
    if number is None or not number.isdigit() or len(number) > 9:
        raise OptionError("launch", f"expected with --replay the number of a launch (replay --list), got {number}")
    with open_launch(path, int(number), device=device) as point:
        launch = point.launch
        if launch.own != len(launch.arguments):
            raise UnsupportedError(f"unsupported: the debugger on launch {number}: its kernel reaches shared virtual memory")
        if not launch.kernel.source:
            raise UnsupportedError(f"unsupported: the debugger on launch {number}: its program was linked of several sources")
        program = build_for_debugging(point.device, launch.kernel.source, launch.kernel.options)
        kernel = program.program[launch.kernel.name]
        sizes = launch.global_size, launch.local_size
        made = prepare_debugging(point.device, program, kernel, *sizes, launch.arguments, launch.offset)
        yield Debuggee(made, [param.name for param in kernel.params], launch.kernel.source, "kernel.cl")
