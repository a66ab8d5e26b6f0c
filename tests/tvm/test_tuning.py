"""Tuning: what the space makes, what is rejected and why, what a tuned model runs, and a folder that survives a kill."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

tvm = pytest.importorskip("tvm")

from tvm import relax  # noqa: E402
from validators import validator  # noqa: E402

import adreno_sim  # noqa: E402
from adreno_sim.base.errors import AdrenoSimError, UnsupportedError  # noqa: E402
from adreno_sim.cli.main import main  # noqa: E402
from adreno_sim.compiler.doctor.models import conv, module, weight  # noqa: E402
from adreno_sim.compiler.lower.targets import make_target  # noqa: E402
from adreno_sim.compiler.passes.registry import choose  # noqa: E402
from adreno_sim.compiler.schedule_database import metaschedule  # noqa: E402
from adreno_sim.compiler.schedule_database.apply import TunedSchedules  # noqa: E402
from adreno_sim.compiler.schedule_database.cancel import cancel_copies  # noqa: E402
from adreno_sim.compiler.schedule_database.store import TRIALS, TuningStore  # noqa: E402
from adreno_sim.compiler.schedule_database.tasks import find_tasks  # noqa: E402
from adreno_sim.compiler.schedule_database.variants import KEY  # noqa: E402
from adreno_sim.compiler.schedule_search import space  # noqa: E402
from adreno_sim.compiler.schedule_search.judge import Judge, Rejection, Verdict  # noqa: E402
from adreno_sim.compiler.schedule_search.measure import make_builder, make_runner  # noqa: E402
from adreno_sim.compiler.schedule_search.search import tune  # noqa: E402
from adreno_sim.compiler.tvm_bridge.schedule_blocks import blocks_of  # noqa: E402
from adreno_sim.render.tuning.text import list_times  # noqa: E402

pytestmark = pytest.mark.tvm


def padded() -> Any:
    """A convolution with padding whose input comes from a buffer through a layout transform: a texture at its call."""
    return module(lambda x: relax.op.nn.relu(conv(x, 12)))


def matrix() -> Any:
    return module(lambda x: relax.op.add(relax.op.matmul(x, weight(24, 16)), weight(16)), (6, 24))


SMALL = "sim:adreno-740,LOCAL_MEM_SIZE=512"
"""A device on which weights of no candidate fit into local memory."""

SCRIPT = """
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Model:
    @R.function
    def main(x: R.Tensor((6, 24), "float32"), w: R.Tensor((24, 16), "float32")):
        with R.dataflow():
            y = R.matmul(x, w)
            R.output(y)
        return y
"""


CONVOLUTION = """
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Model:
    @R.function
    def main(x: R.Tensor((1, 32, 28, 28), "float32"), w: R.Tensor((64, 32, 3, 3), "float32")):
        with R.dataflow():
            y = R.nn.conv2d(x, w, padding=(1, 1))
            z = R.nn.relu(y)
            R.output(z)
        return z
"""


def tasks_of(mod: Any, target: str = "texture") -> list[Any]:
    return find_tasks(mod, make_target(target), choose())


def schedules(task: Any, seed: int = 1) -> dict[str, Any]:
    """A schedule of each variant of the task's space."""
    found = space.design_spaces(tvm.s_tir.Schedule(task.module, seed=seed))
    return {str(one.get(one.get_sblock("root")).annotations[KEY]): one for one in found}


def judged(judge: Judge, schedule: Any, path: Path) -> Verdict | Rejection:
    built = judge.build(schedule, path / "candidate.asim")
    if isinstance(built, Rejection):
        return built
    return judge.run(built.compiled, judge.needless(schedule))


def test_the_space_of_a_packed_convolution(adreno: Any, tmp_path: Path) -> None:
    """Padding guarded or copied, each operand from every kind of memory; those of the latter half are looked at here."""
    (task,) = tasks_of(padded())
    assert task.textures == {0}
    assert task.anchor == "conv2d_NCHWc_OIHWo"
    assert all(info.scope == "global" for info in task.params)
    found = schedules(task)
    assert len(found) == 18
    assert {name.partition(",")[0] for name in found} == {"data buffer", "data texture"}
    judge = Judge(task, adreno)
    name = "data texture, weight local, padding copied, registers"
    verdict = judged(judge, found[name], tmp_path)
    assert isinstance(verdict, Verdict)
    assert verdict.max_error < 1e-3
    assert verdict.time["local memory"]
    assert verdict.time["texture reads"]
    assert verdict.seconds is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "count", "build"),
    [
        ("packed", 18, padded),
        ("half", 18, lambda: module(lambda x: conv(x, 12, dtype="float16"), dtype="float16")),
        ("depthwise", 6, lambda: module(lambda x: conv(x, groups=8))),
        ("uneven groups", 6, lambda: module(lambda x: conv(x, 12, groups=2))),
        ("plain", 2, lambda: module(lambda x: relax.op.nn.relu(conv(x, 5, 3)), (1, 3, 9, 8))),
        ("matrix", 3, matrix),
        ("odd matrix", 2, lambda: module(lambda x: relax.op.matmul(x, weight(24, 10)), (6, 24))),
        ("batched", 2, lambda: module(lambda x: relax.op.matmul(x, relax.op.permute_dims(x, [0, 2, 1])), (2, 6, 8))),
    ],
)
def test_every_variant_is_right(adreno: Any, tmp_path: Path, name: str, count: int, build: Any) -> None:
    task = next(task for task in tasks_of(build()) if not name.startswith(("depth", "uneven")) or task.anchor == "packed_conv2d")
    judge = Judge(task, adreno)
    found = schedules(task, seed=3)
    assert len(found) == count
    for variant, one in found.items():
        verdict = judged(judge, one, tmp_path)
        assert isinstance(verdict, Verdict), (variant, verdict)


def test_limits_are_told_before_anything_runs(tmp_path: Path) -> None:
    """One task, a device whose limits are small: work-group, local memory, image width, each by its finding."""
    (task,) = tasks_of(padded())
    small = adreno_sim.open_device("sim:adreno-740,MAX_WORK_GROUP_SIZE=4,LOCAL_MEM_SIZE=64,IMAGE2D_MAX_WIDTH=40")
    judge = Judge(task, small)
    said: dict[str, tuple[str, str]] = {}
    limits = {"MAX_WORK_GROUP_SIZE", "LOCAL_MEM_SIZE", "IMAGE2D_MAX_WIDTH"}
    for variant, one in itertools.chain.from_iterable(schedules(task, seed).items() for seed in (1, 2)):
        if limits <= set(said):
            break
        verdict = judge.build(one, tmp_path / "candidate.asim")
        if isinstance(verdict, Rejection):
            assert verdict.stage == "limits", verdict
            assert all(f.kind.label == "limit-exceeded" for f in verdict.findings), verdict
            for finding in verdict.findings:
                said[finding.message.partition(": ")[2].partition(" ")[0]] = (variant, finding.message)
    assert limits <= set(said), said
    assert "weight texture" in said["IMAGE2D_MAX_WIDTH"][0]
    assert "of width 72" in said["IMAGE2D_MAX_WIDTH"][1]
    assert "weight local" in said["LOCAL_MEM_SIZE"][0]


def test_a_wrong_candidate_is_rejected_with_the_store_that_did_it(adreno: Any, tmp_path: Path) -> None:
    """Without the fix, TVM 0.26 and 0.27 store one channel four times; the same schedule is right with it."""
    (task,) = tasks_of(padded())
    one = schedules(task)["data texture, weight buffer, padding guarded"]
    verdict = judged(Judge(task, adreno, without_fix=("texture-store",)), one, tmp_path)
    if tvm.__version__.startswith("0.25"):
        assert isinstance(verdict, Verdict)
        return
    assert isinstance(verdict, Rejection)
    assert verdict.stage == "values"
    assert "wrong-value: task_kernel" in verdict.reason
    assert verdict.findings[0].line > 0
    assert isinstance(judged(Judge(task, adreno), one, tmp_path), Verdict)


def test_an_access_outside_its_buffer_is_rejected(adreno: Any, tmp_path: Path) -> None:
    """A seeded defect: the guard of a copy is taken out of the kernel's source."""
    from dataclasses import replace

    (task,) = tasks_of(padded())
    one = schedules(task)["data texture, weight buffer, padding guarded"]
    judge = Judge(task, adreno)
    built = judge.build(one, tmp_path / "candidate.asim")
    assert not isinstance(built, Rejection)
    first = built.compiled.kernels["task_kernel"]
    assert "< 63)" in first.source
    kernels = {**built.compiled.kernels, "task_kernel": replace(first, source=first.source.replace("< 63)", "< 99)"))}
    verdict = judge.run(replace(built.compiled, kernels=kernels))
    assert isinstance(verdict, Rejection)
    assert verdict.stage == "run"
    assert verdict.findings[0].kind.label in ("out-of-bounds-read", "image-write-out-of-range")
    assert verdict.findings[0].line


def test_a_texture_argument_cancels_its_staging_copy() -> None:
    (task,) = tasks_of(padded())
    traces = {name: one.trace for name, one in schedules(task).items()}

    def applied(name: str) -> tuple[list[str], list[str]]:
        schedule = tvm.s_tir.Schedule(task.scoped)
        traces[name].apply_to_schedule(schedule, False)
        gone = cancel_copies(schedule)
        return gone, [str(schedule.get(block).name_hint) for block in blocks_of(schedule)]

    gone, left = applied("data texture, weight texture, padding guarded")
    assert len(gone) == 1
    assert len([name for name in left if "texture" in name]) == 1
    gone, left = applied("data texture, weight buffer, padding copied")
    assert gone == []
    assert left[0].endswith("pad")


def test_nothing_is_cancelled_where_the_argument_is_a_buffer() -> None:
    (task,) = tasks_of(padded())
    for one in schedules(task).values():
        assert cancel_copies(one) == []


COUNT = 5
"""Candidates in the folder of `tuned`."""


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """A folder with candidates of a convolution, and the report."""
    folder = tmp_path_factory.mktemp("tuned") / "db"
    return folder, tune(padded(), folder, trials=COUNT, device=SMALL, seed=1)


def test_every_candidate_is_told(tuned: tuple[Path, Any]) -> None:
    _, report = tuned
    validator("tune").validate(report.as_json())
    (task,) = report.tasks
    assert report.ok
    assert not report.timed
    assert "predicted time" in report.ranking
    assert [trial.number for trial in task.trials] == list(range(COUNT))
    assert task.accepted
    assert task.default is not None
    assert len({(trial.variant, trial.decisions) for trial in task.trials}) == COUNT
    rejected = [trial for trial in task.trials if not trial.accepted]
    assert rejected
    assert all(trial.stage == "limits" and "LOCAL_MEM_SIZE is 512" in trial.reason for trial in rejected)
    assert task.best is not None
    assert task.best.rank == min(trial.rank for trial in task.accepted)


def test_the_report_says_why_one_is_before_another(tuned: tuple[Path, Any]) -> None:
    """Each accepted candidate has its time, whose parts explain it, and the order is the time's."""
    (task,) = tuned[1].tasks
    assert task.default_time is not None
    assert task.default_time["seconds"] == task.default
    for trial in task.accepted:
        whole, parts = trial.time["seconds"], [some for name, some in trial.time.items() if name != "seconds"]
        assert trial.rank == whole
        assert max(parts) <= whole <= sum(parts)
    assert all(trial.time is None and trial.rank is None for trial in task.trials if not trial.accepted)
    listed = list_times(task)
    assert listed[0] == (str(task.best.number), task.best.time)
    assert listed[-1][0] == "default"
    totals = [one["seconds"] for _, one in listed[:-1]]
    assert totals == sorted(totals)


def test_the_seed_decides_what_is_tried(tuned: tuple[Path, Any], tmp_path: Path) -> None:
    """The same candidates in the same order, with the same verdicts, for as many trials; others for another seed."""
    again = tune(padded(), tmp_path / "again", trials=COUNT, device=SMALL, seed=1)
    assert again.tasks[0].trials == tuned[1].tasks[0].trials
    other = tune(padded(), tmp_path / "other", trials=1, device=SMALL, seed=3)
    assert other.tasks[0].trials[0].decisions != again.tasks[0].trials[0].decisions


def test_a_tuned_model_checks_ok(tuned: tuple[Path, Any], adreno: Any) -> None:
    folder, report = tuned
    best = report.tasks[0].best
    checked = adreno_sim.check(padded(), device=adreno, tuned=folder)
    assert checked.ok, checked
    assert checked.checked == checked.kernels_in_model, checked
    (said,) = checked.tuned.values()
    assert said.startswith(best.variant) or said.startswith("default schedule: no candidate was better")
    variant = said.partition(";")[0]
    cancelled = (variant.startswith("data texture") and "padding copied" not in variant) + ("weight texture" in variant)
    assert said == variant + (f"; staging copies cancelled: {cancelled}" if cancelled else "")


def test_another_model_is_left_alone(tuned: tuple[Path, Any], adreno: Any) -> None:
    checked = adreno_sim.check(matrix(), device=adreno, tuned=tuned[0])
    assert checked.ok
    assert checked.tuned == {}


def copied(folder: Path, other: Path) -> Path:
    other.mkdir()
    for file in folder.iterdir():
        (other / file.name).write_bytes(file.read_bytes())
    return other


def test_a_run_goes_on_where_it_was_ended(tuned: tuple[Path, Any], tmp_path: Path) -> None:
    """A copy of the folder as a kill would leave it: a record cut short, one that has no line in the journal yet."""
    folder, report = tuned
    other = copied(folder, tmp_path / "db")
    lines = (other / TRIALS).read_text().splitlines(keepends=True)
    (other / TRIALS).write_text("".join(lines[:-1]) + lines[-1][:40])
    with open(other / "database_tuning_record.json", "a", encoding="utf-8") as file:
        file.write('[0, [[["GetS')
    again = tune(padded(), other, trials=COUNT + 1, device=SMALL, seed=1)
    (first,), (second,) = report.tasks, again.tasks
    assert again.resumed == COUNT - 1
    assert second.trials[: COUNT - 1] == first.trials[:-1]
    assert len(second.trials) == COUNT + 1
    last, found = first.trials[-1], second.trials[COUNT - 1]
    assert (found.variant, found.decisions, found.accepted, found.rank) == (
        last.variant,
        last.decisions,
        last.accepted,
        last.rank,
    )
    assert len({(trial.variant, trial.decisions) for trial in second.trials}) == COUNT + 1
    with TuningStore(other) as store:
        assert len(store.database) == COUNT + 1


def test_a_line_without_its_record_is_tried_again(tuned: tuple[Path, Any], tmp_path: Path) -> None:
    folder, report = tuned
    other = copied(folder, tmp_path / "db")
    records = other / "database_tuning_record.json"
    records.write_text("".join(records.read_text().splitlines(keepends=True)[:-1]))
    again = tune(padded(), other, trials=COUNT, device=SMALL, seed=1)
    assert again.tasks[0].trials[:-1] == report.tasks[0].trials[:-1]
    assert len(again.tasks[0].trials) == COUNT


def test_results_of_other_settings_do_not_mix(tuned: tuple[Path, Any], tmp_path: Path) -> None:
    with pytest.raises(AdrenoSimError, match=r"was made with checked_on .*give another folder"):
        tune(padded(), tuned[0], trials=COUNT, device="sim:adreno-650")
    with pytest.raises(AdrenoSimError, match=r"was made with machine .*give another folder"):
        tune(padded(), tuned[0], trials=COUNT, device=f"{SMALL},time_gflops=500")
    (tmp_path / "notes.txt").write_text("")
    with pytest.raises(AdrenoSimError, match=r"was made with limits .*give another folder"):
        tune(padded(), tuned[0], trials=COUNT, device="sim:adreno-740")
    with pytest.raises(AdrenoSimError, match=r"holds notes\.txt and is not a tuning folder"):
        tune(padded(), tmp_path, trials=1)
    with pytest.raises(AdrenoSimError, match="is not a tuning folder"):
        TunedSchedules(tmp_path)
    with pytest.raises(AdrenoSimError, match="trials 0"):
        tune(padded(), tmp_path / "db", trials=0)
    with pytest.raises(UnsupportedError, match="no function to tune"):
        tune(module(lambda x: relax.op.nn.relu(x)), tmp_path / "db")


def test_two_runs_do_not_share_a_folder(tmp_path: Path) -> None:
    settings = {"target": "texture"}
    with TuningStore(tmp_path, settings), pytest.raises(AdrenoSimError, match="in use by another"):
        TuningStore(tmp_path, settings)


def test_builder_and_runner_serve_metaschedule_itself(adreno: Any, tmp_path: Path) -> None:
    """TVM's own entry point, with this project's space, Builder and Runner."""
    ms = metaschedule.meta_schedule()
    (task,) = tasks_of(matrix(), "buffer")
    judge = Judge(task, adreno)
    with metaschedule.without_tensor_intrinsics():
        database = ms.tir_integration.tune_tir(
            task.module, make_target("buffer"), str(tmp_path), 2, num_trials_per_iter=2, builder=make_builder(judge, tmp_path),
            runner=make_runner(judge), space=space.space_generator(), strategy="replay-trace", cost_model="random",
            database="memory", measure_callbacks=[ms.measure_callback.AddToDatabase()], seed=1, num_tuning_cores=1,
        )  # fmt: skip
    records = database.get_all_tuning_records()
    assert len(records) == 2
    assert all(0 < float(record.run_secs[0]) < 1 for record in records)
    assert not list(tmp_path.glob("*.asim*"))


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "model.py"
    script.write_text(SCRIPT)
    code = main(["tune", str(script), "--db", str(tmp_path / "db"), "--trials", "2", "--json", str(tmp_path / "r.json")])
    said = capsys.readouterr().out
    assert code == 0
    assert "predicted time" in said
    assert "2 candidates" in said
    found = json.loads((tmp_path / "r.json").read_text())
    validator("tune").validate(found)
    assert main(["check", str(script), "--tuned", str(tmp_path / "db")]) == 0
    assert "tuned " in capsys.readouterr().out
    assert main(["check", str(script), "--tuned", str(tmp_path)]) == 2
    assert "is not a tuning folder" in capsys.readouterr().err


def adreno_sim_process(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "adreno_sim", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


@pytest.mark.slow
def test_sixty_four_candidates_of_a_convolution(tmp_path: Path) -> None:
    """Killed on the way; every wrong candidate has its reason; the best one is right here and by another OpenCL."""
    script, folder, file = tmp_path / "model.py", tmp_path / "db", tmp_path / "report.json"
    script.write_text(CONVOLUTION)
    begun = ("tune", str(script), "--db", str(folder), "--trials", "64")
    first = adreno_sim_process(*begun)
    journal = folder / TRIALS
    limit = time.monotonic() + 120
    while not (journal.exists() and journal.read_bytes().count(b"\n") > 5) and first.poll() is None and time.monotonic() < limit:
        time.sleep(0.05)
    first.kill()
    first.communicate()
    left = [json.loads(line) for line in journal.read_text().splitlines() if line.endswith("}")]
    done = adreno_sim_process(*begun, "--json", str(file))
    said, _ = done.communicate(timeout=600)
    assert done.returncode == 0, said
    report = json.loads(file.read_text())
    validator("tune").validate(report)
    (task,) = report["tasks"]
    trials = task["trials"]
    assert report["resumed"] >= 5
    assert len(trials) == 64
    assert [trial["decisions"] for trial in trials[:4]] == [line["decisions"] for line in left if line["kind"] == "trial"][:4]
    rejected = [trial for trial in trials if not trial["accepted"]]
    assert rejected
    assert all(trial["stage"] and trial["reason"] for trial in rejected)
    assert "limits" in task["rejected"]
    assert task["best"] is not None
    assert main(["check", str(script), "--tuned", str(folder)]) == 0
    other = adreno_sim_process("check", str(script), "--tuned", str(folder), "--device", "cl:portable")
    said, _ = other.communicate(timeout=300)
    assert other.returncode == 0, said
    assert "tuned " in said, said


@pytest.mark.slow
def test_a_device_times_candidates(tmp_path: Path) -> None:
    script = tmp_path / "model.py"
    script.write_text(CONVOLUTION)
    run = adreno_sim_process(
        "tune", str(script), "--db", str(tmp_path / "db"), "--trials", "2", "--device", "cl:portable", "--all"
    )
    said, _ = run.communicate(timeout=300)
    assert run.returncode == 0
    assert "ranking: device time" in said
    assert "unverified" not in said
