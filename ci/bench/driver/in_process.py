"""What launches take in process, for the driver suite: as JSON, seconds of the fastest and of the middle of all rounds."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable

import numpy as np

from adreno_sim import open_device
from adreno_sim.base.specs import BufferSpec

SOURCE = "kernel void add(global float *a, float v) { a[get_global_id(0)] += v; }"
ITEMS, MANY = 1024, 1000


def main() -> None:
    rounds = int(sys.argv[1])
    device = open_device(sys.argv[2], checks=sys.argv[3])
    buffer = device.view(device.allocate(4 * ITEMS), BufferSpec(4 * ITEMS, "float32"))
    device.write(buffer, np.ones(ITEMS, np.float32))
    kernel = device.build(SOURCE)["add"]
    v = np.float32(1)

    def launch() -> None:
        device.launch(kernel, (ITEMS,), None, (buffer, v))

    def launch_many() -> None:
        for _ in range(MANY):
            device.launch(kernel, (ITEMS,), None, (buffer, v))

    launch_many()
    print(json.dumps({"launch and finish": measure(launch, 20 * rounds), "1,000 launches": measure(launch_many, rounds)}))


def measure(run: Callable[[], None], count: int) -> tuple[float, float]:
    taken = []
    for _ in range(count):
        start = time.perf_counter()
        run()
        taken.append(time.perf_counter() - start)
    return min(taken), sorted(taken)[count // 2]


if __name__ == "__main__":
    main()
