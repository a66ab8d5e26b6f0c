"""What a thread computes while the device runs: the same results and errors, once, and only where it was meant to."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import handmade
import numpy as np
import pytest

from adreno_sim.backends.open import open_device
from adreno_sim.base.errors import AdrenoSimError
from adreno_sim.base.progress import Progress
from adreno_sim.compiler.check.check import CheckRun
from adreno_sim.compiler.check.golden import LiveGolden
from adreno_sim.compiler.check.prepare import CheckOptions
from adreno_sim.golden.errors import StrayAccessError
from adreno_sim.results.expected import Expected


class Reference:
    """Doubles its argument. threads: that it ran in."""

    def __init__(self, error: Exception | None = None):
        self.threads: list[bool] = []
        self._error = error

    def __contains__(self, name: str) -> bool:
        return name == "f"

    def expect(self, name: str, args: Any) -> list[Expected | None]:
        self.threads.append(threading.current_thread() is threading.main_thread())
        if self._error is not None:
            raise self._error
        return [Expected(2 * args[0])]


CALL: Any = SimpleNamespace(function=SimpleNamespace(golden="f", name="f"), index=3)
ARGS = [np.arange(3.0)]


def first(results):
    return results[0].array.tolist()


def test_what_was_begun_is_computed_once_in_another_thread():
    reference = Reference()
    golden = LiveGolden(reference, apart={"f"})
    golden.begin(CALL, ARGS)
    assert first(golden.results(CALL, ARGS)) == [0, 2, 4] and reference.threads == [False]
    assert first(golden.results(CALL, ARGS)) == [0, 2, 4] and reference.threads == [False, True]


def test_other_arguments_are_computed_for_themselves():
    golden = LiveGolden(Reference(), apart={"f"})
    golden.begin(CALL, ARGS)
    assert first(golden.results(CALL, [np.ones(1)])) == [2]


def test_references_of_others_stay_in_their_thread():
    reference = Reference()
    golden = LiveGolden(reference)
    golden.begin(CALL, ARGS)
    golden.results(CALL, ARGS)
    assert reference.threads == [True]


def test_an_error_is_raised_by_who_asks():
    golden = LiveGolden(Reference(AdrenoSimError("no memory")), apart={"f"})
    golden.begin(CALL, ARGS)
    with pytest.raises(AdrenoSimError, match=r"the reference of f \(call 3\): no memory"):
        golden.results(CALL, ARGS)


def test_a_stray_access_counts_only_where_it_was_asked_for():
    golden = LiveGolden(Reference(StrayAccessError("outside")), apart={"f"})
    golden.begin(CALL, ARGS)
    assert not golden.strays
    golden.begin(CALL, ARGS)
    assert golden.results(CALL, ARGS) == [None] and golden.strays == {"f": "outside"}


def test_no_kernel_is_built_any_more_where_references_fail():
    run = CheckRun(open_device("sim:adreno-740"), CheckOptions(), Progress())

    def fail(info, stage, settle):
        settle(handmade.branch())
        raise AdrenoSimError("refused")

    with pytest.raises(AdrenoSimError, match="refused"):
        run.run(fail)
    assert run.builds is not None and run.builds._pool is None
