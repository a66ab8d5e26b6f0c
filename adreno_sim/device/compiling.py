"""A device that compiles a launch without running it: another process can do that for it, and leave the code on disk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from ..base import disk_cache
from ..base.run_options import RunOptions
from ..base.specs import Argument
from .protocol import Kernel


@runtime_checkable
class LaunchCompiler(Protocol):
    """A device whose machine code is made where the work-group size is known, and kept on disk."""

    @property
    def options(self) -> RunOptions: ...
    def begin_compiler(self) -> None:
        """Have a thread make what the machine code of every kernel needs."""
        ...

    def compile_launch(
        self, kernel: Kernel, global_size: Sequence[int], local_size: Sequence[int] | None, args: Sequence[Argument]
    ) -> None:
        """Make the machine code of a launch whose arguments hold data everywhere, and keep it. Errors as of `Device.launch`."""
        ...


def find_compiler(device: object) -> LaunchCompiler | None:
    """Returns the device, if it compiles launches and finds on disk what another process has kept; else None."""
    compiles = isinstance(device, LaunchCompiler) and device.options.cache and disk_cache.is_enabled()
    return device if compiles else None  # type: ignore[return-value]
