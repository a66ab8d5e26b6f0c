"""Fits the constants of a machine to measured times: least squares of logarithms, in which a row that is far off counts little
more than one that is not, with a weak pull towards where it began."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace

import numpy as np

from adreno_sim.timing.figures import LaunchFigures
from adreno_sim.timing.model import Machine, predict

FITTED = (
    "slots", "idle", "multiply_add", "texel", "large_texel", "line", "wait", "start", "cached_byte", "memory_byte", "cache",
    "launch",
)  # fmt: skip
"""What measured times decide: `machines.RECORDS` says where the others come from."""

SCALE = 0.08
"""Differences of logarithms above which a row counts less than its square."""
PULL = 0.5 * SCALE
"""Weight of a constant that moved by a factor of e."""
STEPS = 60


def sum_times(launches: Sequence[LaunchFigures], machine: Machine) -> np.ndarray:
    """Returns the seconds of launches that follow one another; each is of many records."""
    return np.asarray(sum(predict(figures, machine).seconds for figures in launches))


def fit(launches: Sequence[LaunchFigures], seconds: np.ndarray, start: Machine) -> Machine:
    """Returns `start` with those constants that explain the times of the records best."""
    begin = np.log([asdict(start)[name] for name in FITTED])

    def machine_of(point: np.ndarray) -> Machine:
        return replace(start, **dict(zip(FITTED, np.exp(point).tolist(), strict=True)))

    def residuals(point: np.ndarray) -> np.ndarray:
        off = np.clip(np.log(seconds / sum_times(launches, machine_of(point))), -3, 3)
        bent = np.sign(off) * np.sqrt(2 * SCALE**2 * (np.sqrt(1 + (off / SCALE) ** 2) - 1))
        return np.concatenate([bent, (point - begin) * PULL])

    return machine_of(_minimise(residuals, begin))


def _minimise(residuals: Callable[[np.ndarray], np.ndarray], point: np.ndarray) -> np.ndarray:
    """Levenberg and Marquardt's method, with differences instead of derivatives."""
    damping, now = 1e-2, residuals(point)
    for _ in range(STEPS):
        slopes = np.stack([(residuals(point + 1e-5 * axis) - now) / 1e-5 for axis in np.eye(len(point))], axis=1)
        normal, gradient = slopes.T @ slopes, slopes.T @ now
        for _ in range(12):
            step = -np.linalg.solve(normal + damping * np.diag(np.diag(normal) + 1e-9), gradient)
            then = residuals(point + step)
            if then @ then < now @ now:
                break
            damping *= 4
        else:
            return point
        gained = now @ now - then @ then
        point, now, damping = point + step, then, damping / 4
        if gained < 1e-9 * (now @ now):
            break
    return point
