"""A folder of `tune` may be somebody else's: damage is refused before TVM reads it, and no file in it leads elsewhere."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import Any

import pytest

from adreno_sim.base.errors import AdrenoSimError
from adreno_sim.compiler.schedule_database import store
from adreno_sim.compiler.schedule_database.database_files import require_database
from adreno_sim.compiler.schedule_search.report import trials_of

WORKLOAD = ["103866", "e30="]
TRACE = [[["GetBlock", [], ["matmul", "main"], ["b0"]], ["Sample", ["b0"], [3, 4], ["v1"]]], [[1, [1, 4, 2]]]]
RECORD = [0, [TRACE, [0.5], {"kind": "opencl"}, [["TENSOR", "float32", [8, 16]]]]]
LINE = {
    "kind": "trial", "task": "t", "number": 0, "variant": "v", "decisions": ["1x2"], "accepted": True, "stage": "", "reason": "",
    "findings": [], "time": {"seconds": 1e-3, "latency": 5e-4}, "seconds": None, "max_error": 0.1, "rank": 1e-3,
}  # fmt: skip


def database(folder: Path, *records: Any, workloads: tuple[Any, ...] = (WORKLOAD,)) -> tuple[Path, Path]:
    files = folder / store.WORKLOADS, folder / store.RECORDS
    for file, lines in zip(files, (workloads, records), strict=True):
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return files


def test_a_whole_database_is_read(tmp_path: Path) -> None:
    require_database(*database(tmp_path, RECORD, RECORD))
    require_database(tmp_path / "none", tmp_path / "none")


def changed(tree: Any, way: list[int], value: Any) -> Any:
    tree = json.loads(json.dumps(tree))
    holder = tree
    for key in way[:-1]:
        holder = holder[key]
    holder[way[-1]] = value
    return tree


@pytest.mark.parametrize(
    ("way", "value", "told"),
    [([0], 1, "workload 1: expected one of 1"), ([0], 99999, "workload 99999"), ([0], -1, "workload -1"),
     ([0], True, "workload True"), ([0], "0", "workload 0"), ([1], [], "expected a trace"),
     ([1, 0], [[]], "expected a trace of steps"), ([1, 1], [], "one number"), ([1, 1], ["x"], "one number"),
     ([1, 2], None, "expected a target"), ([1, 3], {}, "list of arguments"),
     ([1, 0, 0, 0], [], "expected steps"), ([1, 0, 0, 0, 1], None, "step GetBlock: expected lists"),
     ([1, 0, 1, 0, 0], 2, "a decision of step 2: expected one of 2"), ([1, 0, 1, 0, 0], -1, "a decision of step -1"),
     ([1, 0, 1, 0], [0], "expected decisions")],
)  # fmt: skip
def test_a_record_that_tvm_would_end_at(way: list[int], value: Any, told: str, tmp_path: Path) -> None:
    """With a workload that is not there TVM ended the process by a signal."""
    with pytest.raises(AdrenoSimError) as refused:
        require_database(*database(tmp_path, RECORD, changed(RECORD, way, value)))
    assert f"{store.RECORDS}:2: damaged: " in str(refused.value)
    assert told in str(refused.value)


@pytest.mark.parametrize("line", [[], ["1"], ["1", 2], {}, None, 7])
def test_a_workload_that_is_none(line: Any, tmp_path: Path) -> None:
    with pytest.raises(AdrenoSimError, match=r"workload\.json:1: damaged: expected the digest"):
        require_database(*database(tmp_path, workloads=(line,)))


HARD = [None, True, -1, 1 << 64, 10**400, float("nan"), "", [], {}, [1], {"a": "b"}, ...]


@pytest.mark.parametrize("key", LINE)
def test_fields_of_a_candidate(key: str) -> None:
    """Each is refused, or a candidate that every report can show."""
    from adreno_sim.render.tuning.text import TIMES

    for value in HARD:
        line = {name: given for name, given in {**LINE, key: value}.items() if given is not ...}
        try:
            read = store._line(json.loads(json.dumps(line)))
        except ValueError:
            continue
        if read["kind"] != "trial":
            continue
        (trial,) = trials_of([read])
        shown = [column.show(("0", trial.time)) for column in TIMES if trial.time is not None]
        assert all(isinstance(text, str) for text in shown)


def test_a_whole_candidate_is_read() -> None:
    assert store._line(LINE) is LINE
    assert store._line({**LINE, "time": None})["time"] is None


@pytest.mark.parametrize("name", [store.SETTINGS, store.TRIALS, store.WORKLOADS, store.RECORDS])
@pytest.mark.parametrize("settings", [None, {}])
def test_a_link_is_refused(name: str, settings: dict[str, Any] | None, tmp_path: Path) -> None:
    """A run appends to the journal: the file that a link leads to would grow."""
    (tmp_path / "db").mkdir()
    (tmp_path / "mine").write_text("mine\n")
    (tmp_path / "db" / name).symlink_to(tmp_path / "mine")
    with pytest.raises(AdrenoSimError, match="is a link: expected a file of this folder's own"):
        store.TuningStore(tmp_path / "db", settings)
    assert (tmp_path / "mine").read_text() == "mine\n"


def test_a_full_disk_is_told_with_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = object.__new__(store.TuningStore)  # the rest of it is TVM's
    made.path, made.lines = tmp_path, []
    made._append(LINE)
    before = (tmp_path / store.TRIALS).read_text()

    def refuse(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(store.os, "fsync", refuse)
    with pytest.raises(AdrenoSimError, match=rf"^cannot write .*{store.TRIALS}: No space left on device$"):
        made._append(LINE)
    assert made.lines == [json.loads(before)]
