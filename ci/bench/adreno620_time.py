"""Predicted beside measured times of kernels on an Adreno 620: ADRENO_LLMS=CHECKOUT python ci/bench/adreno620_time.py

CHECKOUT is one of https://github.com/a8nova/adreno-llms, whose kernels of language models are counted unchanged; the times
beside them are those of its BENCHMARK.md files (a Motorola Razr of 2020, driver E031.37.12.07, events of the queue). Constants
follow from the rates below, except for that of barriers (`timing/machines.py`). docs/time.md has what comes out.
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from adreno_sim import open_device
from adreno_sim.base.specs import BufferSpec, ImageSpec
from adreno_sim.device.protocol import Device
from adreno_sim.timing.launches import LaunchTimer, TimeEstimate

RATES = (
    "time_units=2,time_gflops=240,time_texture_mbps=69000,time_cache_mbps=34000,time_memory_mbps=13500,time_cache_bytes=65536,"
    "time_mhz=625"
)
"""Half of an Adreno 630's, by units; memory as the same repository measured it. The profile is an Adreno 618's, its sibling."""

LFM, MAMBA = "src/models/lfm2-5-350m/kernels/gemv_m1.cl", "src/models/mamba-130m/kernels/gemv_m1.cl"


@dataclass(frozen=True)
class Product:
    """A matrix of halves by a vector, in half. k, n: inputs and outputs. items: of a group; outputs: of a group; where items is
    0, each work-item makes one. image: how the matrix is seen. times: how often it is launched. us: measured, of all of them."""

    file: str
    kernel: str
    k: int
    n: int
    us: float
    items: int = 64
    outputs: int = 1
    image: bool = False
    times: int = 1


PRODUCTS = [
    Product(LFM, "gemv_m1_k1024", 1024, 4608, 2680),
    Product(LFM, "gemv_m1_k1024", 1024, 65536, 37978),
    Product(LFM, "gemv_m1_k4608_no4", 4608, 1024, 1485, outputs=4),
    Product(LFM, "gemv_m1_k1024", 1024, 3072, 1779),
    Product(LFM, "gemv_m1_k1024", 1024, 1024, 597),
    Product(LFM, "gemv_m1_k1024", 1024, 512, 307),
    Product(LFM, "gemv_m1_k1024_no4_img", 1024, 4608, 1153, outputs=4, image=True),
    Product(LFM, "gemv_m1_k1024_no4_img", 1024, 16384, 16109, outputs=4, image=True, times=4),
    Product(LFM, "gemv_m1_k4608_no4_img", 4608, 1024, 806, outputs=4, image=True),
    Product(LFM, "gemv_m1_k1024_no4_img", 1024, 3072, 778, outputs=4, image=True),
    Product(LFM, "gemv_m1_k1024_no4_img", 1024, 1024, 280, outputs=4, image=True),
    Product(LFM, "gemv_m1_k1024_no4_img", 1024, 512, 155, outputs=4, image=True),
    Product(MAMBA, "gemv_m1_k768_no4", 768, 3072, 652, outputs=4),
    Product(MAMBA, "gemv_m1_k768_no4", 768, 50280, 10566, outputs=4),
    Product(MAMBA, "gemv_m1_k1536_no4", 1536, 768, 281, outputs=4),
    Product(MAMBA, "gemv_m1_k1536_no4", 1536, 80, 38, outputs=4),
    Product(MAMBA, "gemv_m1_k48", 48, 1536, 60, items=0),
]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default=f"sim:adreno-618,checks=off,{RATES}", help="default: an Adreno 620, by its rates")
    options = parser.parse_args()
    folder = os.environ.get("ADRENO_LLMS")
    if not folder or not (Path(folder) / LFM).is_file():
        parser.error("ADRENO_LLMS names no checkout of https://github.com/a8nova/adreno-llms")
    device = open_device(options.device)
    timer = LaunchTimer(device)
    found = [(product, time_product(device, timer, Path(folder), product)) for product in PRODUCTS]
    print(f"{'kernel':<24} {'k x n':>13} {'measured':>9} {'predicted':>9} {'factor':>7}  bound by")
    for product, made in found:
        us = product.times * made.seconds * 1e6
        shape = f"{product.k} x {product.n}"
        print(f"{product.kernel:<24} {shape:>13} {product.us:9.0f} {us:9.0f} {product.us / us:7.2f}  {made.bound}")
    for title, rows in (
        ("buffers", [r for r in found if not r[0].image]),
        ("textures", [r for r in found if r[0].image]),
        ("all", found),
    ):
        say(title, np.array([product.us for product, _ in rows]), np.array([p.times * made.seconds * 1e6 for p, made in rows]))
    return 0


def say(title: str, measured: np.ndarray, predicted: np.ndarray) -> None:
    off = np.log(measured / predicted)
    ranks = [np.argsort(np.argsort(values)) for values in (measured, predicted)]
    spearman = np.corrcoef(*ranks)[0, 1]
    factors = np.exp(np.abs(off))
    print(
        f"{title}: {len(off)} rows, Spearman {spearman:.3f}, measured over predicted {np.exp(np.median(off)):.2f} in the median, "
        f"factors: median {np.median(factors):.2f}, 90% {np.quantile(factors, 0.9):.2f}, worst {factors.max():.2f}"
    )


def time_product(device: Device, timer: LaunchTimer, folder: Path, product: Product) -> TimeEstimate:
    """The predicted time of one launch."""
    kernel = device.build((folder / product.file).read_text(), "-DUSE_FP16=1 -cl-fast-relaxed-math")[product.kernel]
    storages = [device.allocate(2 * size) for size in (product.k, product.k * product.n, product.n)]
    buffers = [device.view(storage, BufferSpec(storage.nbytes, "float16")) for storage in storages]
    if product.image:
        buffers[1] = device.create_image(ImageSpec("image2d", product.k // 4, product.n, channel_type="HALF_FLOAT"))
    numbers = [np.int32(product.n)]
    items = product.items or 64
    groups = product.n // product.outputs if product.items else product.n // items
    made = timer.time(kernel, (groups * items,), (items,), [*buffers, *numbers])
    for storage in [*storages, *([buffers[1].storage] if product.image else [])]:
        device.free(storage)
    assert made is not None
    return made


if __name__ == "__main__":
    sys.exit(main())
