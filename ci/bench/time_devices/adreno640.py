"""Predicted beside measured times of probes on an Adreno 640: python ci/bench/time_devices/adreno640.py --probes FILE.txt

The file has what ArchProbe published (https://github.com/microsoft/ArchProbe, examples/adreno640): a line [NAME] for each
probe, and its rows behind it. Kernels that do the same are counted on the built-in profile of the chip, whose rates of textures,
caches and memory are read off the same probes; what they leave open is the shape between, latencies, registers and groups.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from adreno_sim import open_device
from adreno_sim.base.specs import BufferSpec, ImageSpec
from adreno_sim.device.protocol import Device
from adreno_sim.timing.calibration.probes import ITEMS, NAME, TEXEL, Probe, chain, read_buffer, read_image
from adreno_sim.timing.launches import LaunchTimer
from time_devices.summary import summarize

READS, CHAIN = 16, 1024
"""How often the work of reads, and of a single work-item, is repeated here. With more reads a work-item would come back to what
it has read, which the model takes to be kept in registers."""
FOLLOW = """kernel void probe(global int *out, global const int *from, int mask, int n) {
  int at = 0;
  for (int i = 0; i < n; ++i) at = from[at] & mask;
  out[0] = at;
}
"""
"""Reads of a buffer by one work-item; each says where the next one is."""
SHORTEST, LONGEST, LONGEST_ROW = READS * ITEMS * TEXEL, 16 << 20, 1 << 16
"""Bytes of footprints; of a row of texels, what ArchProbe measured rises again behind."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--probes", type=Path, required=True, metavar="FILE", help="what ArchProbe measured")
    options = parser.parse_args()
    try:
        sections = dict(read_sections(options.probes.read_text(encoding="utf-8")))
        rows = [*list_rows(sections)]
    except (OSError, ValueError, LookupError) as error:
        parser.error(f"{options.probes}: expected probes of ArchProbe: {error}")
    device = open_device("sim:adreno-640,checks=off")
    timer = LaunchTimer(device)
    found: dict[str, list[tuple[float, float]]] = {}
    for title, label, measured, probe, repeats in rows:
        here = CHAIN if repeats else READS
        seconds = predict(device, timer, probe, here)
        predicted = seconds * repeats / here if repeats else probe.amount * here / seconds
        found.setdefault(title, []).append((measured, predicted))
        print(f"{title:<34} {label:>16} {measured:12.4g} {predicted:12.4g}")
    for title, pairs in found.items():
        print(summarize(title, *(np.array(side) for side in zip(*pairs, strict=True))))
    return 0


def read_sections(text: str) -> Iterator[tuple[str, list[list[str]]]]:
    """Yields the name of each probe, and its rows as cells."""
    lines = iter(line for line in text.splitlines() if not line.startswith("#"))
    for head in lines:
        if name := re.match(r"\[([^\]]+)\] (?:nthread|range)", head):
            yield name[1], [row.split(",") for row in next(lines).split("; ")]


def list_rows(sections: dict[str, list[list[str]]]) -> Iterator[tuple[str, str, float, Probe, int]]:
    """Yields what is measured, its size, the figure, the kernel, and how often its work was repeated (0: the
    figure is a rate)."""
    for name, make in (("BufferBandwidth", read_buffer), ("ImageBandwidth", read_image)):
        for size, _, rate in sections[name]:
            footprint = 1 << round(math.log2(float(size)))
            if SHORTEST <= footprint <= (LONGEST_ROW if make is read_image else LONGEST):
                yield f"{name}, bytes a second", f"{footprint}", float(rate) * 1e9, make(footprint), 0
    for items, groups, live, us in sections["RegCount"]:
        if items == "1" and int(live) < 184:
            probe = chain(int(live))
            title = "RegCount, one group" if groups == "1" else "RegCount, groups"
            yield title, f"{live} x {groups}", float(us) * 1e-6, Probe(probe.source, int(groups), 1, probe.amount), 21539
    yield "reads that follow each other", "64 KiB", 113e-9, Probe(FOLLOW, 1, 1, 1.0, 1 << 16), 1


def predict(device: Device, timer: LaunchTimer, probe: Probe, repeats: int) -> float:
    """Returns the predicted seconds of a probe that is repeated."""
    specs: list[BufferSpec | ImageSpec] = [BufferSpec(4 * probe.groups * probe.items, "float32")]
    if probe.footprint:
        image = ImageSpec("image2d", probe.footprint // TEXEL)
        specs.append(image if probe.image else BufferSpec(probe.footprint, "float32"))
    storages = [device.allocate(device.view_nbytes(spec)) for spec in specs]
    views = [device.view(storage, spec) for storage, spec in zip(storages, specs, strict=True)]
    masks = [np.int32(probe.footprint // TEXEL - 1)] if probe.footprint else []
    try:
        kernel = device.build(probe.source)[NAME]
        made = timer.time(kernel, (probe.groups * probe.items,), (probe.items,), [*views, *masks, np.int32(repeats)])
    finally:
        for storage in storages:
            device.free(storage)
    assert made is not None
    return made.seconds


if __name__ == "__main__":
    sys.exit(main())
