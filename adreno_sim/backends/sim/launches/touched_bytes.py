"""The bytes that a launch touches, as those who compare launches ask for them."""

from __future__ import annotations

from ....base.run_options import RunOptions
from ....engine.run.counted import Touched, trace_touched
from ....ir.data_dependence import accesses_depend_on_memory
from ..arguments import bind_argument
from .launch_config import PreparedLaunch

TIME_LIMIT = 5.0
"""Seconds that looking may take."""


def find_touched_bytes(launch: PreparedLaunch, options: RunOptions, *, has_run: bool) -> Touched | None:
    """Returns which bytes of its buffers and images a launch reads and writes, by running it once more without effect; None if
    that is not known: it takes too long or too much memory, a view was released, or, of one that has run, what it touches depends
    on memory as it was then. options: the device's."""
    config = launch.config
    if config.analysis is None:
        return {}
    if not all(launch.args[index].live for index in config.views):
        return None
    if has_run and accesses_depend_on_memory(launch.kernel.function):
        return None
    return trace_touched(
        config.analysis,
        [bind_argument(arg) for arg in launch.args],
        options.cache,
        timeout=min(TIME_LIMIT, options.timeout),
        **launch.sizes,
    )
