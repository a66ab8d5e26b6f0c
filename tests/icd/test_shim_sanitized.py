"""The shim under sanitizers, with the same clients: no bad access, nothing undefined, no data race; and defects are told."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from shim_clients import compile_sanitized, fake_environment, run

BAD_MEMORY, DATA_RACES = "address,undefined", "thread"
OPTIONS = {"ASAN_OPTIONS": "detect_leaks=0", "UBSAN_OPTIONS": "halt_on_error=1", "TSAN_OPTIONS": "halt_on_error=1", "DELAY": "30"}
RUNS = {
    "ordering": [[]], "memory": [[]], "errors": [[]], "threads": [["60"]], "unordered": [[], ["well"]],
    "misuse": [["released_too_often"], ["used_while_mapped"], ["host_memory_changed"], ["unordered_transfer"]],
    "pending": [["two_writes"], ["deferred_write"], ["round_trip"], ["told_otherwise", "well"], ["other_queue"], ["unmapped"]],
    "read_maps": [["image"], ["pitched_image"], ["not_blocking"], ["twice"], ["launch"], ["queue", "well"], ["never_unmapped"]],
    "lifetime": [["leak"], ["destructors"], ["notice"], ["fork"], ["server_killed"], ["server_killed_amid_work"]],
}  # fmt: skip


def outcome(program: str, folder: Path, words: list[str]) -> subprocess.CompletedProcess[str]:
    return run([program, *words], env=fake_environment(folder, **OPTIONS))


@pytest.mark.slow
@pytest.mark.parametrize("sanitizers", [BAD_MEMORY, DATA_RACES])
@pytest.mark.parametrize("client", RUNS)
def test_clients_are_clean(client: str, sanitizers: str, tmp_path: Path) -> None:
    program = compile_sanitized(client, tmp_path, sanitizers)
    for words in RUNS[client]:
        done = outcome(program, tmp_path, words)
        assert done.returncode == 0, done.stderr


DEFECTS = {
    "an event is freed too early": (BAD_MEMORY, "ordering", [], "heap-use-after-free|use-after-poison",
        ("core/schedule.c", "    object_hold(made); /* this function's;", "    /* this function's;")),
    "state without its lock": (DATA_RACES, "threads", ["60"], "data race",
        ("core/completion.c", "void state_lock(struct link *link) { pthread_mutex_lock(&link->state); }",
         "void state_lock(struct link *link) { pthread_mutex_trylock(&link->state); }")),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("defect", DEFECTS)
def test_a_defect_is_told(defect: str, tmp_path: Path) -> None:
    sanitizers, client, words, told, change = DEFECTS[defect]
    done = outcome(compile_sanitized(client, tmp_path, sanitizers, change), tmp_path, words)
    assert done.returncode != 0, done.stderr
    assert any(word in done.stderr for word in told.split("|")), done.stderr
