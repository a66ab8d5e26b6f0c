"""The predicted time of a decode step of a language model: python ci/bench/time_devices/decode.py [--quantised]

The model has the sizes of Qwen2 1.5B (https://huggingface.co/Qwen/Qwen2-1.5B, config.json), and a paged KV cache; TVM compiles it
for buffers, and its weights are generated. Two of its 28 layers and a part of its vocabulary run in a session, one token after
one: kernels of layers count fourteen times, and the last product by its share of the vocabulary. What is counted once is
predicted for each device.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[3] / "tests/models"))
sys.path.insert(0, str(Path(__file__).parents[3] / "tests/tvm/session"))

import paged_llama
from tvm import relax

from adreno_sim import Session
from adreno_sim.compiler.lower.targets import make_target
from adreno_sim.compiler.run import launch_times
from adreno_sim.profiles.profile import load
from adreno_sim.results.time_limits import show_duration
from adreno_sim.timing.figures import LaunchFigures
from adreno_sim.timing.launches import LaunchTimer, TimeEstimate
from adreno_sim.timing.machines import TimedDevice, machine_of_profile
from adreno_sim.timing.model import predict

SIZES = paged_llama.Sizes(1536, 8960, 12, 2, 128, 28, 151936, "float16", False, False)
LAYERS, VOCABULARY = 2, 8192
STATE = "vm.builtin.kv_state_"


class KeptFigures(LaunchTimer):
    """A timer of launches that keeps the figures of each, in order, by the name of its kernel."""

    launches: ClassVar[list[tuple[str, LaunchFigures]]] = []

    def time(self, kernel: Any, *rest: Any, **named: Any) -> TimeEstimate | None:
        made = super().time(kernel, *rest, **named)
        if made is not None and made.figures is not None:
            self.launches.append((kernel.name, made.figures))
        return made


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quantised", action="store_true", help="weights of 4 bits in groups of 32 (q4f16), in place of halves")
    parser.add_argument("--devices", nargs="+", default=["adreno-740", "adreno-750", "adreno-830"], metavar="PROFILE")
    options = parser.parse_args()
    launches = count_step(options.quantised)
    for name in options.devices:
        show_step(launches, machine_of_profile(load(name)))
    return 0


def count_step(quantised: bool) -> list[tuple[str, LaunchFigures]]:
    """The launches of a step after one token."""
    sizes = replace(SIZES, layers=LAYERS, vocabulary=VOCABULARY, quantised=quantised, tied=quantised)
    module, weights = paged_llama.export(sizes, make_target("buffer"), single=True)
    module = relax.transform.FuseTransposeMatmul()(module)  # as MLC does: else each step transposes its weights
    launch_times.LaunchTimer = KeptFigures  # type: ignore[misc]
    with Session(module, weights, target="buffer", device="sim:adreno-740", checks="off", references={}, time=True) as session:
        cache = session.call("create_kv_cache", (1,), (64,), (16,), (16,), (0,))
        session.call(f"{STATE}add_sequence", cache, 0)
        session.call(f"{STATE}begin_forward", cache, (0,), (1,))
        hidden = session.call("embed", np.array([[3]], np.int32))
        session.call("decode", hidden, cache)
        session.call(f"{STATE}end_forward", cache)
    return KeptFigures.launches


def show_step(launches: list[tuple[str, LaunchFigures]], device: TimedDevice) -> None:
    """Say what a step takes with all layers and the whole vocabulary, and what takes most of it."""
    counts: dict[str, int] = {}
    seconds: dict[str, float] = {}
    bound: dict[str, str] = {}
    for name, figures in launches:
        made = predict(figures, device.machine)
        counts[name] = counts.get(name, 0) + 1
        seconds[name] = seconds.get(name, 0.0) + float(made.seconds)
        bound[name] = made.find_bound()
    once = [name for name, count in counts.items() if count < LAYERS]
    head = max(once, key=seconds.__getitem__)
    for name in seconds:
        seconds[name] *= SIZES.vocabulary / VOCABULARY if name == head else 1 if name in once else SIZES.layers / LAYERS
    whole = sum(seconds.values())
    print(
        f"{device.name} ({device.error}): {show_duration(whole)}, {1 / whole:.1f} tokens a second, from "
        f"{1 / whole / device.spread:.1f} to {device.spread / whole:.1f}"
    )
    for name in sorted(seconds, key=lambda name: -seconds[name])[:6]:
        print(f"  {name[:70]:<70} {show_duration(seconds[name]):>9}  {bound[name]}")


if __name__ == "__main__":
    sys.exit(main())
