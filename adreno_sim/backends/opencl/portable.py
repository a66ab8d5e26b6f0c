"""`cl:portable`: the first of the processor's drivers that gives every known answer, without loading any other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from . import drivers
from .drivers import Driver
from .verdicts import judge_driver

ORDER = ("pocl", "intel")
"""Drivers that may be it: PoCL, the system's before that of PyPI, then Intel's."""


def candidates() -> Iterator[Driver]:
    """The drivers that are installed, best first, each with the text of its .icd file."""
    for name in ORDER:
        driver = drivers.get_driver(name)
        for icd in drivers.icd_texts(driver):
            yield replace(driver, icd=icd)


def choose() -> Driver | None:
    """The driver that `cl:portable` is; None if none is fit."""
    return next((driver for driver in candidates() if not judge_driver(driver.icd).against), None)


def explain() -> str:
    """Why there is none: what each driver gets wrong, and which may be installed."""
    found = list(candidates())
    unfit = [f"{driver.platform} ({driver.icd.strip()}) {judge_driver(driver.icd).against}" for driver in found]
    missing = [drivers.get_driver(name) for name in ORDER if name not in {driver.name for driver in found}]
    absent = [f"{driver.platform} is not installed: {driver.install}" for driver in missing]
    return "; ".join([*unfit, *absent])
