"""How near to the best of its space a tuned schedule is: python ci/bench/time_networks/tune_spaces.py [NETWORK ...] [--trials N]

Four small networks, whose spaces have a few hundred schedules: every one of them is compiled, checked and predicted, as `tune`
does with those that it tries. A line for each network: the schedules of its space, how many are right, and the predicted time
of what `tune` chose by the best of all.
"""

from __future__ import annotations

import argparse
import itertools
import math
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from tvm import relax, s_tir

from adreno_sim import open_device
from adreno_sim.compiler.lower.pipeline import select_fixes
from adreno_sim.compiler.lower.targets import make_target
from adreno_sim.compiler.schedule_database.tasks import find_tasks
from adreno_sim.compiler.schedule_search.judge import Judge, Rejection
from adreno_sim.compiler.schedule_search.measure import rank
from adreno_sim.compiler.schedule_search.search import DEFAULT_CHECKER, tune
from adreno_sim.compiler.schedule_search.space import MOST_INNER, UNROLL, design_spaces

Choice = tuple[int, tuple[Any, ...]]
"""A schedule of a space: which of its variants, and what is chosen where there is a choice."""


def _convolution(shape: tuple[int, ...], weight: tuple[int, ...], padding: int, dtype: str, groups: int = 1) -> Any:
    blocks = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType(shape, dtype))
    values = np.random.default_rng(0).standard_normal(weight).astype(dtype)
    with blocks.function("main", [x]):
        with blocks.dataflow():
            y = blocks.emit(relax.op.nn.conv2d(x, relax.const(values), (1, 1), (padding,) * 4, groups=groups))
            result = blocks.emit_output(relax.op.nn.relu(y))
        blocks.emit_func_output(result)
    return blocks.get()


def _product() -> Any:
    blocks = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((14, 32), "float32"))
    values = np.random.default_rng(0).standard_normal((32, 56)).astype("float32")
    with blocks.function("main", [x]):
        with blocks.dataflow():
            result = blocks.emit_output(relax.op.matmul(x, relax.const(values)))
        blocks.emit_func_output(result)
    return blocks.get()


NETWORKS = {
    "pointwise": lambda: _convolution((1, 8, 7, 7), (16, 8, 1, 1), 0, "float16"),
    "padded": lambda: _convolution((1, 8, 5, 5), (8, 8, 3, 3), 1, "float32"),
    "depthwise": lambda: _convolution((1, 16, 7, 7), (16, 1, 3, 3), 1, "float16", 16),
    "product": _product,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", default=list(NETWORKS), metavar="NETWORK", help=f"of {', '.join(NETWORKS)}")
    parser.add_argument("--trials", type=int, default=64, metavar="N", help="candidates of tune (default 64)")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="processes")
    parser.add_argument("--seconds", type=float, default=float("inf"), metavar="S", help="stop after this time")
    options = parser.parse_args()
    until = time.monotonic() + options.seconds
    with multiprocessing.get_context("spawn").Pool(options.jobs) as pool:
        tuned = {name: pool.apply_async(tune_network, (name, options.trials)) for name in options.networks}
        for name in options.networks:
            choices = list(list_choices(name))
            made = pool.map_async(predict_choice, [(name, choice) for choice in choices], chunksize=4)
            try:
                times = [each for each in made.get(left(until)) if each is not None]
                chosen, tried = tuned[name].get(left(until))
            except multiprocessing.TimeoutError:
                print(f"{name} and what follows: not done after {options.seconds:g} seconds")
                break
            print(
                f"{name}: {len(choices)} schedules, {len(times)} of them right, from {1e6 * min(times):.2f} to "
                f"{1e6 * max(times):.2f} us; the best of {tried} that tune tried takes {chosen / min(times):.3f} of the best",
                flush=True,
            )
    return 0


def left(until: float) -> float | None:
    return max(0.0, until - time.monotonic()) if until < float("inf") else None


def tune_network(name: str, trials: int) -> tuple[float, int]:
    """The predicted time of the best candidate, and how many were tried."""
    with tempfile.TemporaryDirectory() as folder:
        (task,) = tune(NETWORKS[name](), folder, trials=trials).tasks
    return min(trial.rank for trial in task.trials if trial.accepted), len(task.trials)


@cache
def open_judge(name: str) -> tuple[Judge, list[Any]]:
    """The judge of the network's task, and its variants."""
    checker = open_device(DEFAULT_CHECKER)
    target = make_target("texture", checker.info.limits)
    (task,) = find_tasks(NETWORKS[name](), target, select_fixes("fixed", ()))
    return Judge(task, checker), design_spaces(s_tir.Schedule(task.module))


def list_choices(name: str) -> Iterator[Choice]:
    """Every schedule of the network's space."""
    for number, space in enumerate(open_judge(name)[1]):
        for decisions in itertools.product(*(options_of(space.trace.decisions[inst]) for inst in sampling(space.trace))):
            yield number, decisions


def sampling(trace: Any) -> list[Any]:
    """The instructions of a trace that choose."""
    return [inst for inst in trace.insts if inst in trace.decisions]


def options_of(decision: Any) -> list[Any]:
    """What may be chosen in place of a decision: the number of a value of UNROLL, or factors; the last factor is limited."""
    if not hasattr(decision, "__len__"):
        return list(range(len(UNROLL)))
    sizes = [int(size) for size in decision]
    return [factors for factors in split(math.prod(sizes), len(sizes)) if factors[-1] <= MOST_INNER]


def split(extent: int, parts: int) -> list[tuple[int, ...]]:
    """The ways to write an extent as a product of so many factors."""
    if parts == 1:
        return [(extent,)]
    divisors = [some for some in range(1, extent + 1) if extent % some == 0]
    return [(first, *rest) for first in divisors for rest in split(extent // first, parts - 1)]


def predict_choice(task: tuple[str, Choice]) -> float | None:
    """The predicted time of a schedule; None where it is wrong or beyond a limit."""
    name, (number, decisions) = task
    judge, spaces = open_judge(name)
    trace = spaces[number].trace
    for inst, decision in zip(sampling(trace), decisions, strict=True):
        trace = trace.with_decision(inst, decision, remove_postproc=False)
    schedule = s_tir.Schedule(judge.task.module)
    trace.apply_to_schedule(schedule, remove_postproc=False)
    built = judge.compile(schedule.mod["main"])
    if isinstance(built, Rejection):
        return None
    found = judge.run(built.compiled, judge.needless(schedule))
    return None if isinstance(found, Rejection) else rank(found)


if __name__ == "__main__":
    sys.exit(main())
