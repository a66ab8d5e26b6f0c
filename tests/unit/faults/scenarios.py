"""Runs a scenario with a fault at each call in turn: python scenarios.py NAME FOLDER, with faults.c loaded before libc.

n counts up until a run meets no fault. Prints, as JSON, how many calls failed. Whatever is not as promised ends it with a
traceback.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from adreno_sim.base import disk_cache
from adreno_sim.base.errors import AdrenoSimError, show_error
from adreno_sim.base.json_io import write_json
from adreno_sim.base.output_file import place_folder, write_bytes
from adreno_sim.findings import Finding, Kind
from adreno_sim.icd.journal import Journal, read_journal
from adreno_sim.icd.report_files import ReportFile, collect_reports
from adreno_sim.results.run_report import ProcessReport

FAULTS = ctypes.CDLL(None)
ERRORS = (errno.ENOSPC, errno.EIO, errno.ENOMEM, 0)
"""0 cuts a write short, which is no error: the rest is to be written."""
OLD, NEW = b"old " * 5000, b"new " * 7000
SEEN = [Finding(Kind.OUT_OF_BOUNDS_READ, f"reads {number}", kernel="f", line=number) for number in range(1, 6)]


def tell_of(work: Callable[[], object]) -> bool:
    """Whether it was done; an error is one line."""
    try:
        work()
        return True
    except AdrenoSimError as error:
        assert show_error(error)
        assert "\n" not in show_error(error)
        return False


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def cache(folder: Path, faulty: Callable[[Callable[[], object]], None]) -> None:
    """An entry is whole or absent, and kept the next time."""
    os.environ["ADRENO_SIM_CACHE_DIR"] = str(folder)
    entry = disk_cache.folder("kind") / "entry"
    found: list[bytes | None] = []
    faulty(lambda: (disk_cache.store(entry, NEW), found.append(disk_cache.load(entry)), disk_cache.map_pages(entry)))
    assert found, "raised, or other bytes"
    assert found[0] in (None, NEW), "raised, or other bytes"
    assert disk_cache.load(entry) in (None, NEW)
    assert not [name for name in names(folder) if name.startswith(".tmp-")]
    disk_cache.store(entry, NEW)
    assert disk_cache.load(entry) == NEW


def output(folder: Path, faulty: Callable[[Callable[[], object]], None]) -> None:
    """An output is the old one or the new one, with nothing beside it."""
    file = folder / "out"
    file.write_bytes(OLD)
    done: list[bool] = []
    faulty(lambda: done.append(tell_of(lambda: write_bytes(file, NEW))))
    assert file.read_bytes() == (NEW if done[0] else OLD)
    assert names(folder) == ["out"]
    write_bytes(file, NEW)
    assert file.read_bytes() == NEW


def new_output(folder: Path, faulty: Callable[[Callable[[], object]], None]) -> None:
    """An output where there was none is whole or absent."""
    file = folder / "out.json"
    done: list[bool] = []
    faulty(lambda: done.append(tell_of(lambda: write_json(file, {"a": ["b"] * 3000}))))
    assert names(folder) == (["out.json"] if done[0] else [])
    assert not done[0] or json.loads(file.read_text()) == {"a": ["b"] * 3000}


def output_folder(folder: Path, faulty: Callable[[Callable[[], object]], None]) -> None:
    """A folder appears with all its files, or not at all."""
    made = folder.with_name("made")
    made.mkdir(exist_ok=True)
    for name in ("a", "b"):
        (made / name).write_bytes(NEW)
    done: list[bool] = []
    faulty(lambda: done.append(tell_of(lambda: place_folder(made, folder / "out"))))
    assert names(folder) == (["a", "b"] if done[0] else []), names(folder)
    assert [path.name for path in folder.iterdir()] == (["out"] if done[0] else [])


def journal(folder: Path, faulty: Callable[[Callable[[], object]], None]) -> None:
    """A journal says what could not be written with what comes next."""
    file, done = folder / "j", [False]

    def work() -> None:
        def write() -> None:
            made = Journal(file, ProcessReport("p", 7, "sim:adreno-740", "full"))
            for finding in SEEN:
                made.add_finding(finding)

        done[0] = tell_of(write)

    faulty(work)
    kept = [finding.line for finding in read_journal(file, 7, "sim:adreno-740").findings]
    lines = [finding.line for finding in SEEN]
    assert not done[0] or kept in (lines, lines[:-1]), kept


def report(folder: Path, faulty: Callable[[Callable[[], object]], None]) -> None:
    """What a server found is in its report, or in the journal where no report could be written."""
    told, done = ProcessReport("p", 7, "sim:adreno-740", "full", opened=True), [False, False]

    def work() -> None:
        def write() -> None:
            made = ReportFile(str(folder), told)
            done[0] = True
            for finding in SEEN:
                told.findings.append(finding)
                made.journal.add_finding(finding)
            done[1] = tell_of(lambda: made.write(told))

        tell_of(write)

    faulty(work)
    found = collect_reports(folder, "sim:adreno-740", 0)
    if done[1]:
        assert [finding.line for finding in found[0].findings] == [finding.line for finding in SEEN]
        assert not found[0].failed
    elif done[0]:
        assert [finding.line for finding in found[0].findings] == [finding.line for finding in SEEN]
        assert found[0].failed
    assert not [name for name in names(folder) if not name.startswith("process-")]


SCENARIOS = {made.__name__: made for made in (cache, output, new_output, output_folder, journal, report)}


def main() -> None:
    name, folder = sys.argv[1], Path(sys.argv[2]).resolve() / "files"
    scenario, failed = SCENARIOS[name], 0
    for error in ERRORS:
        at, met = 0, True
        while met:
            at += 1
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True, mode=0o700)
            calls = [0]

            def faulty(work: Callable[[], object], at: int = at, error: int = error, calls: list[int] = calls) -> None:
                FAULTS.faults_start(os.fsencode(folder), ctypes.c_long(at), error)
                try:
                    work()
                finally:
                    calls[0] = FAULTS.faults_stop()

            try:
                scenario(folder, faulty)
            except BaseException:
                print(f"{name}: call {at}, {errno.errorcode.get(error, 'cut short')}", file=sys.stderr)
                raise
            met = calls[0] >= at
            failed += met
    print(json.dumps({"faults": failed}))


if __name__ == "__main__":
    main()
