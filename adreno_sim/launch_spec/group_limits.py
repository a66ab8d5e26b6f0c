"""Whether a group finds registers on a chip, as a driver asks before it launches one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from ..device.machine_code import KernelCode
from ..findings import Finding, Kind


def find_refused_groups(kernels: Sequence[KernelCode], local_size: Sequence[int] | None) -> Iterator[Finding]:
    """Returns a finding for each chip on which the group has more work-items than find registers, however loops are unrolled. A
    group that the driver chooses (None) fits."""
    items = math.prod(local_size or (1,))
    for one in kernels:
        best = max(one.rolled, one.unrolled, key=lambda code: code.group_limit)
        if items > best.group_limit:
            yield Finding(
                Kind.GROUP_MAY_BE_REFUSED,
                f"{items} work-items in a group on {one.chip}: {best.registers} registers leave room for {best.group_limit}; "
                "where CL_KERNEL_WORK_GROUP_SIZE is as small, the launch fails with CL_INVALID_WORK_GROUP_SIZE",
                detail={"chip": one.chip, "items": items, "registers": best.registers, "group_limit": best.group_limit},
            )
