"""What islpy is to embed: import, memory, isl's limit of operations, contexts of threads.

pip install islpy                       # no dependency of this project
python ci/trials/islpy_library.py       # seconds
"""

from __future__ import annotations

import resource
import subprocess
import sys
import threading
from collections.abc import Callable
from itertools import pairwise
from time import perf_counter

HARD = 12, 24
"""Variables and bits of the coefficients of a knapsack that keeps isl busy for about a second."""


def main() -> None:
    show_import()
    import islpy as isl

    print(f"islpy {isl.version.VERSION_TEXT}, isl: {isl.isl_version().strip()}")
    show_limit(isl)
    show_threads(isl)
    show_memory(isl)


def show_import() -> None:
    """Prints what the import costs a fresh process, least of five."""
    code = (
        "import resource, time\n"
        "before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()\n"
        "import {0}\n"
        "print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    for module in ("islpy", "numpy"):
        runs = [subprocess.run([sys.executable, "-c", code.format(module)], capture_output=True, text=True) for _ in range(5)]
        seconds, kib = min(tuple(map(float, run.stdout.split())) for run in runs)
        print(f"import {module}: {seconds * 1e3:.0f} ms, {kib / 1024:.1f} MiB")


def hard_set(isl, context, seed: int = 1):
    """Returns a knapsack with large coefficients: whether it has a solution takes isl long."""
    count, bits = HARD
    state, weights = seed * 7919 + 1, []
    for _ in range(count):
        state = (state * 1103515245 + 12345) % (1 << 31)
        weights.append((1 << bits) + state % (1 << bits))
    names = [f"x{n}" for n in range(count)]
    total = sum(weights) // 2 + 1
    inside = " and ".join(f"0 <= {name} <= 1" for name in names)
    equal = " + ".join(f"{weight} {name}" for weight, name in zip(weights, names, strict=True))
    return isl.BasicSet.read_from_str(context, f"{{ [{', '.join(names)}] : {inside} and {equal} = {total} }}")


def time_of(call: Callable[[], object]) -> tuple[float, object]:
    """Returns the seconds of a call and its result, or the error that it raised."""
    start = perf_counter()
    try:
        result = call()
    except Exception as error:
        result = f"{type(error).__name__}: {error}"
    return perf_counter() - start, result


def show_limit(isl) -> None:
    """Prints what happens where isl meets its limit of operations, and whether the context can be used after it."""
    context = isl.Context()
    seconds, result = time_of(hard_set(isl, context).is_empty)
    print(f"no limit: {seconds * 1e3:.1f} ms, empty: {result}")
    for operations in (100, 10_000, 1_000_000):
        points = hard_set(isl, context)
        context.reset_operations()
        context.set_max_operations(operations)
        seconds, result = time_of(points.is_empty)
        context.set_max_operations(0)
        easy = isl.BasicSet.read_from_str(context, "{ [x] : 2 x = 1 }").is_empty()
        print(f"limit {operations}: {seconds * 1e3:.2f} ms, {result}; afterwards a right answer: {easy}")


def show_threads(isl) -> None:
    """Prints whether threads with contexts of their own get right answers, run at the same time, and stop other threads."""
    alone, _ = time_of(hard_set(isl, isl.Context()).is_empty)
    answers: list[object] = []

    def ask() -> None:
        answers.append(hard_set(isl, isl.Context()).is_empty())

    threads = [threading.Thread(target=ask) for _ in range(2)]
    together, _ = time_of(lambda: [thread.start() for thread in threads] and [thread.join() for thread in threads])
    print(f"one thread {alone:.2f} s, two with a context each {together:.2f} s, answers {answers}")
    ticks, done = [perf_counter()], threading.Event()

    def tick() -> None:
        while not done.wait(0.001):
            ticks.append(perf_counter())

    ticking = threading.Thread(target=tick)
    ticking.start()
    hard_set(isl, isl.Context()).is_empty()
    done.set()
    ticking.join()
    longest = max(after - before for before, after in pairwise(ticks))
    print(f"another thread waited {longest:.2f} s at most while isl computed")


def show_memory(isl) -> None:
    """Prints how the process grows over many sets in one context, and over many contexts."""

    def peak() -> float:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    context, before = isl.Context(), peak()
    for number in range(20_000):
        isl.BasicSet.read_from_str(context, f"{{ [x, y] : 0 <= x < {number} and 3 x + 5 y = {number} }}").is_empty()
    middle = peak()
    for _ in range(2_000):
        isl.BasicSet.read_from_str(isl.Context(), "{ [x] : 2 x = 1 }").is_empty()
    print(f"20000 sets in a context: {middle - before:.1f} MiB more; 2000 contexts: {peak() - middle:.1f} MiB more")


if __name__ == "__main__":
    main()
