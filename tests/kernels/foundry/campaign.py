"""Runs numbered cases on the simulator, batch by batch, and counts what was missed and what was told wrongly."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from adreno_sim.device.protocol import Device

from .cases import Case, make_case
from .judge import Problem, judge
from .model.expect import expect
from .plant import Variant
from .resize import resize
from .simulate import Run, Setting, forget, on_processor, open_simulator, processors, run

BATCH = 16
Key = tuple[str, str, str]


@dataclass
class Report:
    """What a part of a campaign found. By cell (kind, space, level): planted kernels and those of which something was missed;
    clean kernels and those with a false alarm; others: findings at a wrong place, wrong bytes, failures of the simulator.

    ran: launches by processor, by code, by number of threads, by lanes of the vectors that ran. failures: texts. died: cases
    whose process did.
    """

    planted: Counter[Key] = field(default_factory=Counter)
    missed: Counter[Key] = field(default_factory=Counter)
    clean: Counter[Key] = field(default_factory=Counter)
    false: Counter[Key] = field(default_factory=Counter)
    others: Counter[Key] = field(default_factory=Counter)
    ran: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    died: int = 0

    def add(self, other: Report) -> None:
        self.died += other.died
        for name in ("planted", "missed", "clean", "false", "others", "ran"):
            getattr(self, name).update(getattr(other, name))
        self.failures += other.failures


@dataclass(frozen=True)
class Step:
    """One launch of a case. again: everything that is kept in memory is dropped before it."""

    name: str
    variant: Variant
    again: bool = False


def setting_of(seed: int, number: int) -> Setting:
    """How a case runs. The processor is the same for a batch."""
    chooser = random.Random(f"setting {seed}/{number // BATCH}")
    processor = chooser.choice(processors())
    own = random.Random(f"setting {seed}/{number} of its own")
    code = own.choice(["vector", "vector", "coarse", "coarse", "scalar"])
    return Setting(processor, code, own.choice([1, 1, 2, 3, 8]), own.random() < 0.5, own.choice([0, 0, 1, 7]))


def steps_of(case: Case, chooser: random.Random) -> list[Step]:
    """The launches of a case, in order."""
    planted, clean = Step("planted", case.pair.planted), Step("clean", case.pair.clean)
    steps = chooser.choice([[planted, clean], [clean, planted], [clean, planted, clean]])
    if case.pair.refused is not None:
        return steps
    for _ in range(chooser.choice([0, 1, 1, 2])):
        name = chooser.choice(["planted", "clean"])
        variant = case.pair.planted if name == "planted" else case.pair.clean
        steps.append(Step(f"{name}, resized", resize(variant, chooser)))
    if chooser.random() < 0.4:
        steps.append(Step("planted", case.pair.planted, again=True))
        steps.append(Step("clean", case.pair.clean))
    return steps


def run_batches(seed: int, numbers: range) -> Report:
    """Runs cases; each batch has a cache on disk of its own."""
    report, before = Report(), None
    with ExitStack() as stack:
        for number in numbers:
            if number // BATCH != before:
                stack.close()
                stack.enter_context(own_surroundings())
                before = number // BATCH
            run_numbered(seed, number, report)
    return report


@contextmanager
def own_surroundings() -> Iterator[None]:
    """An analysis that fails is a failure. The cache on disk is empty: with thousands of entries each look at its size is slow.
    No launch runs twice unasked: which ones do depends on the time they take."""
    folder, kept = tempfile.mkdtemp(prefix="foundry"), dict(os.environ)
    os.environ.update(ADRENO_SIM_CACHE_DIR=folder, ADRENO_SIM_STRICT_ANALYSIS="1")
    os.environ.setdefault("ADRENO_SIM_SECOND_RUN", "off")
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(kept)
        shutil.rmtree(folder, ignore_errors=True)


def run_numbered(seed: int, number: int, report: Report) -> None:
    case, setting = make_case(seed, number), setting_of(seed, number)
    chooser = random.Random(f"steps {seed}/{number}")
    with on_processor(setting.processor, setting.code == "coarse"):
        run_case(case, setting, steps_of(case, chooser), report)


def run_case(case: Case, setting: Setting, steps: list[Step], report: Report) -> None:
    """Runs a case step by step on one device. It counts once as planted and once as clean, as missed or wrong if any step is."""
    cell = case.cell
    key = (cell.kind, cell.space, cell.level)
    report.planted[key] += 1
    report.clean[key] += 1
    device = open_simulator(setting, cell.level)
    sorts: set[str] = set()
    for step in steps:
        if step.again:
            forget()
            device = open_simulator(setting, cell.level)
        problems, made = run_step(device, case, step)
        _count_run(report, setting, made)
        sorts |= {problem.sort for problem in problems}
        if problems:
            report.failures.append(explain(case, setting, step, problems, made))
    report.missed[key] += "missed" in sorts
    report.false[key] += "false alarm" in sorts
    report.others[key] += bool(sorts - {"missed", "false alarm"})


def run_step(device: Device, case: Case, step: Step) -> tuple[list[Problem], Run | None]:
    """Launches on the device and in the model; what differs."""
    try:
        made = run(device, step.variant)
        if case.pair.refused is not None and step.name == "planted":
            return judge_refused(case, made), made
        return judge(expect(step.variant.program, step.variant.launch, case.cell.level == "full"), made), made
    except Exception:  # a launch that raises what it should not is what a campaign looks for: it is told, and the next case runs
        return [Problem("broke", traceback.format_exc())], None


def judge_refused(case: Case, made: Run) -> list[Problem]:
    """The compiler is to refuse the line in which a constant is written, and no other."""
    assert case.pair.refused is not None
    line = case.pair.planted.program.lines[id(case.pair.refused)]
    if not made.refused:
        return [Problem("missed", f"line {line} writes to a constant, and was compiled")]
    return [] if set(made.refused) == {line} else [Problem("wrong place", f"lines {made.refused} were refused, expected {line}")]


def _count_run(report: Report, setting: Setting, made: Run | None) -> None:
    report.ran["launches"] += 1
    report.ran[f"on {setting.processor}"] += 1
    report.ran[f"threads: {setting.threads}"] += 1
    report.ran["cache on" if setting.cache else "cache off"] += 1
    for code in made.code if made else ():
        first = code.split(",")[0]
        what = "one work-item at a time" if first.startswith("one work-item") else first.replace(" work-items", "")
        report.ran[("coarse " if "one of each of" in code else "") + what] += 1


def explain(case: Case, setting: Setting, step: Step, problems: list[Problem], made: Run | None) -> str:
    """A failure as text: the command that repeats it, what is wrong, the kernel and its launch."""
    launch = step.variant.launch
    said = "\n".join(f"  {problem.sort}: {problem.text}" for problem in problems)
    values = {n: v if isinstance(v, int) else f"{v.nbytes} bytes, unset {v.unset}" for n, v in launch.values.items()}
    findings = (
        [f"{f.kind.label} in line {f.line}: {f.message} (x{f.count})" for f in made.result.findings]
        if made and made.result
        else []
    )
    return (
        f"case {case.seed} ({case.cell.kind}, {case.cell.space}, {case.cell.level}), {step.name}; {setting.text()}\n{said}\n"
        f"  findings: {findings}\n  code: {made.code if made else ''}\n"
        f"  groups {launch.groups} of {launch.group}, {values}\n{step.variant.program.text}"
    )
