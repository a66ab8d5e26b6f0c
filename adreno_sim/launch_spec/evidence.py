"""What a page shows of a launch beside its findings: every buffer and image, and the stores to the elements of findings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..base.specs import BufferSpec, View
from ..findings import Finding
from ..results.evidence import CallNote, Evidence, find_element
from .wanted import WantedOutput

MOST_REPLAYS = 6
"""Findings for whose stores the launch runs again."""


def gather_evidence(
    call: CallNote,
    findings: Sequence[Finding],
    named: Mapping[int, tuple[str, View, np.ndarray]],
    wanted: Sequence[WantedOutput],
    watch: Callable[[View, int], list[dict[str, Any]]] | None,
) -> Evidence:
    """named: what each buffer and image is called, and held after the launch, by its position. watch: runs the launch again for
    the stores to an element; None if the device cannot."""
    evidence = Evidence()
    evidence.add_call(call)
    kernel, expected = call.launches[0][0], {output.argument: output for output in wanted}
    about = {name: [(one, find_element(one, array.shape, array.itemsize)) for one in findings if _concerns(one, name)]
             for name, _, array in named.values()}  # fmt: skip
    for position, (name, view, array) in named.items():
        output = expected.get(position)
        right = None if output is None else output.array.reshape(array.shape)
        around = max((element for _, element in about[name]), default=0)
        is_image = not isinstance(view.spec, BufferSpec)
        evidence.add_array(
            name, kernel, array, right, None if output is None else output.tolerance, is_image=is_image, around=max(0, around)
        )
    if watch is not None:
        pairs = [(one, view, element) for name, view, _ in named.values() for one, element in about[name]]
        for finding, view, element in [pair for pair in pairs if pair[2] >= 0 and "stores" not in pair[0].detail][:MOST_REPLAYS]:
            evidence.stores.append((finding, watch(view, element)))
    return evidence


def _concerns(finding: Finding, argument: str) -> bool:
    access = finding.access
    return finding.detail.get("argument") == argument or (access is not None and access.view == argument)
