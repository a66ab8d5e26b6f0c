"""The table of built-ins: complete, and agreeing with what emitters and the library have."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import adreno_sim
from adreno_sim.engine import builtins as _emitters  # noqa: F401 (registers them)
from adreno_sim.engine.builtins import integers, vectors
from adreno_sim.engine.emit import builtin_registry, collectives, sync_points
from adreno_sim.frontend import builtin_library
from adreno_sim.ir.builtins import BUILTINS, UNKNOWN, find_builtin

ASKED_FOR_ELSEWHERE = re.compile(r"get_\w+")
"""Queries of ids and sizes, which the emitter of work-items answers."""


def test_what_is_emitted_has_a_row():
    emitted = {name for name in builtin_registry.EMITTERS if not name.startswith("llvm.")}
    assert emitted - BUILTINS.keys() == set()
    assert builtin_library._UNIT_OF.keys() - BUILTINS.keys() == set()


def test_what_has_a_row_is_emitted():
    known = {name for name in BUILTINS if builtin_registry.find_emitter(name) or name in builtin_library._UNIT_OF}
    assert {name for name in BUILTINS.keys() - known if not ASKED_FOR_ELSEWHERE.fullmatch(name)} == set()


def test_a_name_without_a_row_may_do_anything():
    row = find_builtin("somebody_elses_function")
    assert row is UNKNOWN
    assert row.effect(0) == "read_write"
    assert row.uniformity == "work_item"
    assert not row.elementwise
    assert find_builtin("llvm.fabs.f32").uniformity == "operands"


@pytest.mark.parametrize(
    ("name", "effects"),
    [
        ("vload4", ["read"]), ("vload_half", ["read"]), ("vstorea_half3_rtz", ["write"]), ("prefetch", ["none"]),
        ("async_work_group_copy", ["write", "read"]), ("atomic_add", ["read_write"]), ("sincos", ["read_write"]),
        ("printf", ["none", "none", "none"]),
    ],
)  # fmt: skip
def test_effects_on_memory(name, effects):
    assert [find_builtin(name).effect(number) for number in range(len(effects))] == effects


def test_what_work_items_meet_at():
    meeting = {name for name, row in BUILTINS.items() if row.sync}
    assert {"barrier", "wait_group_events", "sub_group_shuffle_xor", "work_group_reduce_add"} <= meeting
    assert {name for name in meeting if not BUILTINS[name].has_result} == {
        "barrier", "work_group_barrier", "wait_group_events", "sub_group_barrier",
    }  # fmt: skip
    assert all(builtin_registry.find_emitter(name) is sync_points._refuse_sync for name in meeting)
    assert not any(BUILTINS[name].in_vectors for name in meeting if BUILTINS[name].has_result)
    short = {re.sub(r"^(sub|work)_group_", "", name) for name in meeting if BUILTINS[name].has_result}
    assert {name for name in short if not collectives._FOLD.fullmatch(f"sub_group_{name}")} == collectives._OTHERS.keys()


def test_elementwise_functions_are_those_of_the_modules_that_go_lane_by_lane():
    assert BUILTINS["mad24"].elementwise
    assert BUILTINS["convert_uchar4_sat_rte"].elementwise
    assert not any(BUILTINS[name].elementwise for name in ("dot", "any", "shuffle", "vload4", "get_global_id", "fract"))
    lane_by_lane = {n for n, emit in builtin_registry.EMITTERS.items() if emit.__module__ == integers.__name__ and n in BUILTINS}
    assert all(BUILTINS[name].elementwise for name in lane_by_lane)
    assert not any(BUILTINS[n].elementwise for n, e in builtin_registry.EMITTERS.items() if e.__module__ == vectors.__name__)


EMITTERS = (
    "ir/builtins.py",
    "engine/builtins/",
    "engine/emit/work_items.py",
    "engine/emit/collectives.py",
    "frontend/builtin_library.py",
)
"""Where a name chooses the code of a function, or the value of a query."""
VALUES = re.compile(r'"(get_\w+|convert_int|min|max|select|any|all|dot|printf|__translate_sampler_initializer)"')
"""Functions whose very value an analysis knows."""


def test_no_other_file_sorts_functions_by_name():
    """What a function does to memory, where it synchronises and in what it differs is asked of the table."""
    package = Path(adreno_sim.__file__).parent
    sorting = re.compile(r"callee\.name\.startswith\(|fullmatch\(\w*\.?callee\.name|callee\.name (?:not )?in [({]")
    found = []
    for folder in ("ir", "engine", "frontend", "backends"):
        for path in sorted((package / folder).rglob("*.py")):
            place = path.relative_to(package).as_posix()
            if place.startswith(EMITTERS):
                continue
            lines = path.read_text(encoding="utf-8").splitlines()
            found += [
                f"{place}:{n}: {line.strip()}"
                for n, line in enumerate(lines, 1)
                if sorting.search(line) and not VALUES.search(line)
            ]
    assert found == []
