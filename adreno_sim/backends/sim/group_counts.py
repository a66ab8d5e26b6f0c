"""Counters of a sample of the work-groups of a launch."""

from __future__ import annotations

from ...base.run_options import RunOptions
from ...base.specs import Local
from ...device.counters import LaunchCounters
from ...device.group_sample import STEPS, SampledLaunch, Tracing, choose_groups
from ...engine.analysis.data_chains import count_live_bytes
from ...engine.analysis.slow_builtins import list_slow_calls
from ...engine.run.counted import counting_groups
from ...memory.storage import before_access
from .arguments import bind_argument
from .launches.launch_config import PreparedLaunch


def count_sample(launch: PreparedLaunch, line_bytes: int, options: RunOptions, tracing: Tracing) -> SampledLaunch:
    """Returns the counters of some groups of each stratum of a launch: first of one in each, those with most groups first, then
    of the rest that was chosen, until STEPS are spent. Strata without counters are assumed to be like the others.

    line_bytes: of a cache line. options: the device's. Raises UnsupportedError if groups do not end in time.
    """
    kernel, config = launch.kernel, launch.config
    local = kernel.local_bytes + sum(arg.nbytes for arg in launch.args if isinstance(arg, Local))
    if config.analysis is None:
        return SampledLaunch(kernel.name, 0, (), local, kernel.private_bytes)
    spec = config.analysis.spec
    grid = [-(-whole // part) for whole, part in zip(config.total, spec.local_size, strict=True)]
    strata = choose_groups(grid)
    found: dict[int, LaunchCounters] = {}
    for index in config.views:
        before_access(launch.args[index])
    args = [bind_argument(arg) for arg in launch.args]
    sizes = {"timeout": options.timeout, **launch.sizes}
    with counting_groups(config.analysis, args, line_bytes, options.cache, tracing, **sizes) as count:
        first = [(number, [stratum.chosen[len(stratum.chosen) // 2]]) for number, stratum in enumerate(strata)]
        rest = [(number, [one for one in strata[number].chosen if one not in done]) for number, done in first]
        spent = 0
        for number, chosen in first + rest:
            if chosen and spent < STEPS:
                counters = count(chosen)
                found[number] = found[number] + counters if number in found else counters
                spent += counters.branches + sum(row.reads + row.writes for row in counters.memory)
    groups = sum(stratum.groups for stratum in strata)
    share = groups / sum(strata[number].groups for number in found)
    parts = tuple((share * strata[number].groups / counters.groups, counters) for number, counters in found.items())
    function = config.analysis.kernel
    live, slow = count_live_bytes(function), list_slow_calls(function)
    return SampledLaunch(kernel.name, groups, parts, local, kernel.private_bytes, live, slow)
