"""One case again: its kernels, what is wrong with each launch, and the smallest launch that still fails."""

from __future__ import annotations

import random

from adreno_sim.base.errors import AdrenoSimError

from .campaign import explain, own_surroundings, run_step, setting_of, steps_of
from .cases import make_case
from .shrink import shrink
from .simulate import forget, on_processor, open_simulator


def repeat(name: str, shrunk: bool) -> int:
    """Runs the case `SEED/NUMBER` and prints it. Returns 1 where something is wrong."""
    seed, _, number = name.partition("/")
    if not (seed.isdigit() and number.isdigit()):
        raise AdrenoSimError(f"--case {name}: expected SEED/NUMBER, as in 7/1234")
    case, setting = make_case(int(seed), int(number)), setting_of(int(seed), int(number))
    wrong = []
    with own_surroundings(), on_processor(setting.processor, setting.code == "coarse"):
        device = open_simulator(setting, case.cell.level)
        for step in steps_of(case, random.Random(f"steps {seed}/{number}")):
            if step.again:
                forget()
                device = open_simulator(setting, case.cell.level)
            problems, made = run_step(device, case, step)
            print(explain(case, setting, step, problems, made))
            if problems:
                wrong.append((step, problems[0].kind))
    if wrong and shrunk:
        step, kind = wrong[0]
        smaller = shrink(case, setting, step, kind)
        if smaller is None:
            print(f"{step.name} fails only after the launches before it")
        else:
            with on_processor(setting.processor, setting.code == "coarse"):
                problems, made = run_step(open_simulator(setting, case.cell.level), case, smaller)
            print(explain(case, setting, smaller, problems, made))
    return 1 if wrong else 0
