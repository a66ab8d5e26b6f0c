"""Results of a sweep that were edited, or are somebody else's: a case counts as done only if it is one, with its exit code."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import handmade
import pytest

from adreno_sim.base.errors import AdrenoSimError
from adreno_sim.cli.main import main
from adreno_sim.render.sweep import text
from adreno_sim.sweep.case import Case, Outcome, Result
from adreno_sim.sweep.outcome import outcome_of, read_outcome
from adreno_sim.sweep.run import Sweep
from adreno_sim.sweep.store import ResultStore

CASE = Case("m.asim", "0" * 64, "sim:adreno-740", "")
HARD = [None, True, -1, 1.5, 1 << 64, 10**400, float("nan"), "", "x", [], {}, [1], {"a": 1}, ...]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The report of a check with a finding."""
    folder = tmp_path_factory.mktemp("report")
    made = handmade.texture()
    for name, code in made.kernels.items():
        source = code.source.replace("(y, at,", "(y, at + (int4)(1, 0, 0, 0),")
        made.kernels[name] = type(code)(**{**vars(code), "source": source})
    made.save(folder / "m.asim")
    assert main(["check", str(folder / "m.asim"), "--json", str(folder / "r.json")]) == 1
    data: dict[str, Any] = json.loads((folder / "r.json").read_text())
    return data


@pytest.fixture
def store(tmp_path: Path) -> ResultStore:
    return ResultStore(tmp_path / "results")


def edit(store: ResultStore, ending: str, **changes: Any) -> None:
    """Change fields of a file of the case; ... removes one."""
    file = store.folder / f"{CASE.key}{ending}"
    data = {**json.loads(file.read_text()), **changes}
    file.write_text(json.dumps({name: value for name, value in data.items() if value is not ...}))


def test_what_was_written_counts(store: ResultStore, report: dict[str, Any]) -> None:
    broken = [("crashed", 1), ("failed", 2), ("internal-error", 4), ("hung", 1)]
    others = [(Outcome(status, code, "m", 2.0), None) for status, code in broken]
    for outcome, data in [(outcome_of(report, 1.5), report), *others]:
        store.put(CASE, Result(outcome, data, "log"))
        found = store.get(CASE)
        assert found is not None
        assert (found.outcome, found.report) == (outcome, data)


@pytest.mark.parametrize("status", ["ok", "findings", "failed", "unsupported", "internal-error", "crashed", "hung", "fine"])
def test_the_exit_code_is_that_of_the_status(status: str) -> None:
    """What crashed would be told, and the sweep would end with 0."""
    right = {"ok": [0], "findings": [1], "failed": [2], "unsupported": [3], "fine": []}.get(status, [1, 2, 3, 4])
    for code in (-1, 0, 1, 2, 3, 4, 5, 130):
        data = {**asdict(Outcome("crashed", 1, "m", 1.0)), "status": status, "exit_code": code}
        with contextlib.nullcontext() if code in right else pytest.raises(ValueError, match=status):
            assert read_outcome(data).exit_code == code


def places(tree: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = tree.items() if isinstance(tree, dict) else enumerate(tree[:2]) if isinstance(tree, list) else ()
    for key, value in items:
        yield (*way, key)
        yield from places(value, (*way, key))


def changed(tree: Any, way: tuple[Any, ...], value: Any) -> Any:
    tree = json.loads(json.dumps(tree))
    holder = tree
    for key in way[:-1]:
        holder = holder[key]
    if value is ...:
        del holder[way[-1]]
    else:
        holder[way[-1]] = value
    return tree


def test_any_field_may_be_anything(store: ResultStore, report: dict[str, Any]) -> None:
    """Of the outcome and of the report, each by other values: it counts, and everything is written, or the case runs again."""
    from adreno_sim.render.sweep import findings, markdown

    outcome = outcome_of(report, 1.5)
    counted = 0
    for ending in (".case.json", ".report.json"):
        store.put(CASE, Result(outcome, report))
        file = store.folder / f"{CASE.key}{ending}"
        tree = json.loads(file.read_text())
        for number, way in enumerate(places(tree)):
            for value in HARD[number % 4 :: 4]:
                file.write_text(json.dumps(changed(tree, way, value)))
                found = store.get(CASE)
                if found is None:
                    continue
                counted += 1
                done = Sweep(((CASE, found),))
                assert done.exit_code == 1
                markdown.text(done), findings.annotation_lines(done), findings.code_quality(done), done.as_json()
    assert counted


def test_another_outcome_than_the_reports_does_not_count(store: ResultStore, report: dict[str, Any]) -> None:
    store.put(CASE, Result(outcome_of(report, 1.5), report))
    edit(store, ".case.json", status="ok", exit_code=0, errors=0)
    assert store.get(CASE) is None


def test_a_verdict_without_its_report_does_not_count(store: ResultStore, report: dict[str, Any]) -> None:
    """The findings are in the report: with none, the SARIF of a sweep that failed was empty."""
    store.put(CASE, Result(outcome_of(report, 1.0), report))
    (store.folder / f"{CASE.key}.report.json").unlink()
    assert store.get(CASE) is None
    store.put(CASE, Result(Outcome("failed", 2, "no model", 1.0)))
    assert store.get(CASE) == Result(Outcome("failed", 2, "no model", 1.0))


@pytest.mark.parametrize("ending", [".case.json", ".report.json", ".log"])
def test_a_link_among_the_results_is_refused(tmp_path: Path, ending: str) -> None:
    """What it leads to would be replaced."""
    (tmp_path / "results").mkdir()
    (tmp_path / "other").write_text("mine")
    (tmp_path / "results" / f"x{ending}").symlink_to(tmp_path / "other")
    with pytest.raises(AdrenoSimError, match=r"is a link: expected a file of this folder's own"):
        ResultStore(tmp_path / "results")
    (tmp_path / "way").symlink_to(tmp_path / "results")
    (tmp_path / "results" / f"x{ending}").unlink()
    ResultStore(tmp_path / "way")  # the folder's own name may lead anywhere


@pytest.mark.parametrize("count, counted", [(1, "1 case: 1 ok"), (2, "2 cases: 2 ok")])
def test_a_summary_counts_its_cases(count: int, counted: str) -> None:
    done = Sweep(((CASE, Result(Outcome("ok", 0, "ok", 1.0), None, "")),) * count)
    assert text.summary(done).startswith(counted)
