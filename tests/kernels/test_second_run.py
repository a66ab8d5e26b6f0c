"""Second runs of launches with unoptimised code: what differs is an error with a folder that shows it again, and what may differ
rightly is none."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adreno_sim
from adreno_sim.base.errors import AdrenoSimError
from adreno_sim.base.specs import BufferSpec, ImageSpec, Local, Sampler
from adreno_sim.cli.main import main
from adreno_sim.engine.prove import launch as launch_proofs
from adreno_sim.engine.run import optimistic, second_run
from adreno_sim.engine.run.launch import RawResult
from adreno_sim.engine.run.second_run import CodeDifference, Tally
from adreno_sim.findings import Finding, Kind

ITEMS = 64
COPY = "kernel void k(global float *a, global const float *b) { int i = get_global_id(0); a[i] = 2 * b[i]; }"
INTS = "kernel void k(global int *a, global const float *b) { int i = get_global_id(0); a[i] = b[i]; }"
Change = Callable[[RawResult, Sequence[Any]], None]


def switch(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv(second_run.SWITCH, value)
    second_run.read_switch.cache_clear()


@pytest.fixture(autouse=True)
def tally(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Tally]:
    """Runs every launch twice, and saves what differs in a folder of the test's. Returns the tally, in which nothing is yet."""
    switch(monkeypatch, "all")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(second_run, "tally", Tally())
    yield second_run.tally
    second_run.read_switch.cache_clear()


def run(source: str, checks: str = "full", group: int = 16, more: Sequence[Any] = (), times: int = 1) -> np.ndarray:
    """Launches a kernel of a buffer `a` of zeros, a buffer `b` of numbers, and `more`. Returns what `a` holds then."""
    device = adreno_sim.open_device("sim:adreno-740", checks=checks, cache=False)
    views = [device.view(device.allocate(4 * ITEMS), BufferSpec(4 * ITEMS, "float32")) for _ in "ab"]
    for view, data in zip(views, (np.zeros(ITEMS), np.arange(ITEMS)), strict=True):
        device.write(view, data.astype(np.float32))
    kernel = device.build(source, "-cl-std=CL2.0")["k"]
    for _ in range(times):
        device.launch(kernel, (ITEMS,), (group,), [*views, *[one(device) if callable(one) else one for one in more]])
    return device.read(views[0])


def spoil(monkeypatch: pytest.MonkeyPatch, change: Change) -> None:
    """Lets `change` stand for a defect of optimised code: it changes the result, or memory."""
    plain = optimistic.run

    def changed(variant: Any, global_size: Any, offset: Any, args: Any, **options: Any) -> RawResult:
        result = plain(variant, global_size, offset, args, **options)
        change(result, args)
        return result

    monkeypatch.setattr(optimistic, "run", changed)


def storing(data: bytes, at: int = 0) -> Change:
    return lambda result, args: ctypes.memmove(args[0].address + at, data, len(data)) and None


def lose_findings(result: RawResult, args: Sequence[Any]) -> None:
    result.findings = []


@pytest.mark.parametrize("checks", ["off", "bounds", "full"])
def test_the_same_is_no_difference_and_the_first_run_stays(tally, checks):
    np.testing.assert_array_equal(run(COPY, checks, times=3), 2 * np.arange(ITEMS))
    assert (tally.same, tally.undecided, tally.differing) == (3, 0, 0)


@pytest.mark.parametrize("checks", ["off", "bounds", "full"])
def test_another_byte_is_an_error(monkeypatch, tally, checks):
    spoil(monkeypatch, storing(b"\7", at=13))
    with pytest.raises(CodeDifference, match=r"a differs in 1 bytes from byte 13 on: 07 c0 40 [ 0-9a-f]* and 00 c0 40 "):
        run(COPY, checks)
    assert tally.differing == 1


def test_a_finding_that_only_one_run_has_is_an_error(monkeypatch):
    past = COPY.replace("b[i]", "b[i + 1]")
    run(past)
    spoil(monkeypatch, lose_findings)
    with pytest.raises(CodeDifference, match="found nothing and out-of-bounds-read 1 times"):
        run(past, "bounds")
    head, body = "kernel void k(global float *a, global float *b) {", "a[get_global_id(0)] = x[get_global_size(0) & 1 ^ 1]; }"
    unset = f"{head} int x[2]; x[0] = 1; {body}"
    with pytest.raises(CodeDifference, match="found nothing and uninitialized-read"):
        run(unset, "full")


def test_a_proof_that_is_false_is_an_error(monkeypatch):
    plain = launch_proofs.prove_in_range
    everything = frozenset(range(20))
    monkeypatch.setattr(launch_proofs, "prove_in_range", lambda analysis: replace(plain(analysis), in_range=everything))
    with pytest.raises(CodeDifference, match="found nothing and out-of-bounds-read 1 times"):
        run(COPY.replace("b[i]", "b[i + 1] + 1"), "bounds")


def test_the_bits_of_a_float_that_is_no_number_may_differ_and_those_of_integers_not(monkeypatch, tally):
    run(COPY.replace("2 * b[i]", "b[i] < 1 ? NAN : b[i]"))
    spoil(monkeypatch, storing(b"\1\0\xc0\xff"))  # another NaN
    run(COPY.replace("2 * b[i]", "b[i] < 1 ? NAN : b[i]"))
    assert tally.same == 2
    with pytest.raises(CodeDifference):
        run(INTS)
    spoil(monkeypatch, storing(b"\0\0\xc0\xff"))
    run(INTS.replace("b[i]", "i ? (int)b[i] : 0x7fc00000"))  # but the sign of what 0 / 0 gives


HEAD = "kernel void k(global float *a, global const float *b) { int i = get_global_id(0), l = get_local_id(0); BODY }"
COUNTERS = HEAD.replace("(global float *a, ", "(global int *a, ")
UNDECIDED = {
    "work-items that race": "a[0] = b[i];",
    "a barrier that some pass by": "if (l < 8) barrier(1); a[i] = b[i];",
    "a local element that nobody wrote": "local float s[64]; s[l] = b[i]; barrier(1); a[i] = s[l + 16] == s[l];",
}


@pytest.mark.parametrize(("name", "checks"), [*((name, "bounds") for name in UNDECIDED), (list(UNDECIDED)[-1], "full")])
def test_what_may_differ_rightly_is_not_decided(monkeypatch, tally, name, checks):
    spoil(monkeypatch, storing(b"\7"))
    run(HEAD.replace("BODY", UNDECIDED[name]), checks)
    assert (tally.same, tally.undecided, tally.differing) == (0, 1, 0)


RACES = {
    "an update that vectors lose": "a[i & 7] += 1;",
    "a value that is every one's in turn": "a[0] = b[0] + i % 2 * (63 - i); a[32 + i / 2] = a[0];",
    "in local memory": "local float s[16]; s[l & 1] = i; s[l & 1] += 1; barrier(1); a[i] = s[l & 1] * 0 + s[0];",
}
NO_RACES = {
    "each its own": "a[i] += 1;",
    "all the same value": "a[0] = 1; a[1] = a[0] * 0 + 3;",
    "in turn, behind barriers": "for (int n = 0; n < 16; ++n) { if (l == n) a[i / 16] += b[i]; barrier(CLK_GLOBAL_MEM_FENCE); }",
}


@pytest.mark.share()
@pytest.mark.parametrize("checks", ["off", "bounds"])
@pytest.mark.parametrize("name", [*RACES, *NO_RACES])
def test_a_race_is_undecided_though_opposite_orders_agree(monkeypatch, tally, name, checks):
    """Below level full no order of whole work-items need show what vectors of them, or threads, make of a race."""
    is_race = name in RACES
    source = HEAD.replace("BODY", {**RACES, **NO_RACES}[name])
    run(source, checks)
    assert tally.differing == 0
    spoil(monkeypatch, storing(b"\7", at=13 if is_race else 1))
    if is_race:
        run(source, checks)
        assert tally.undecided >= 1
    else:
        with pytest.raises(CodeDifference, match="a differs in 1 bytes from byte 1 on"):
            run(source, checks)


ORDERED = {
    "who came when": "a[i] = atomic_inc(&a[0]) * 0;",
    "who came last": "atomic_xchg(&a[0], (int)b[i] % 63);",
    "what is added, and what is least": "atomic_add(&a[0], 0); atomic_min(&a[0], 5);",
    "who found what it expected": "atomic_cmpxchg(&a[0], 0, (int)b[i] * 0);",
}
UNORDERED = {
    "a count": "atomic_inc(&a[0]); atomic_add(&a[1], i); atomic_dec(&a[2]);",
    "the largest": "atomic_max(&a[0], (int)b[i]);",
    "a mask": "atomic_fetch_or_explicit((global atomic_int *)a, 1 << l, memory_order_relaxed, memory_scope_device);",
}


@pytest.mark.parametrize("name", [*ORDERED, *UNORDERED])
def test_atomics_that_show_an_order_decide_nothing_below_full(monkeypatch, tally, name):
    """Orders that agree may do so by chance; what may be done in any order is compared."""
    source = COUNTERS.replace("BODY", {**ORDERED, **UNORDERED}[name])
    spoil(monkeypatch, storing(b"\7", at=13))
    if name in ORDERED:
        run(source, "bounds")
        assert (tally.undecided, tally.differing) == (1, 0)
    for checks in ["bounds"] * (name in UNORDERED) + ["full"]:
        with pytest.raises(CodeDifference, match="a differs in"):
            run(source, checks)


def test_text_that_work_items_print_in_any_order_is_compared(monkeypatch, tally):
    source = COPY.replace("a[i] =", 'printf("%d\\n", i); a[i] =')
    run(source, "bounds")
    assert tally.same == 1
    spoil(monkeypatch, storing(b"\7", at=13))
    with pytest.raises(CodeDifference, match="a differs in 1 bytes"):
        run(source, "bounds")


@pytest.mark.parametrize("body", ['int p; printf("%p", &p);', "int p; a[i] = (float)(ulong)&p;"])
def test_addresses_of_private_memory_are_not_compared(monkeypatch, tally, body):
    spoil(monkeypatch, storing(b"\7"))
    run(COPY.replace("a[i] =", f"{body} a[i] +="))
    assert (tally.same, tally.undecided, tally.differing) == (0, 1, 0)


def test_at_level_full_a_race_has_one_result(monkeypatch, tally):
    for body in RACES.values():
        run(HEAD.replace("BODY", body))
    race = COPY.replace("a[i]", "a[0]")
    run(race)
    assert (tally.same, tally.undecided) == (1 + len(RACES), 0)
    for change, told in ((storing(b"\7"), "a differs"), (lose_findings, "found nothing and data-race")):
        with monkeypatch.context() as spoiled, pytest.raises(CodeDifference, match=told):
            spoil(spoiled, change)
            run(race)


EVERY_KIND = """typedef struct { int x; float y[2]; } S;
kernel void k(global float *a, global const float *b, read_only image2d_t t, sampler_t s, local float *l, float4 f, uchar c,
  S v) {
  int i = get_global_id(0); l[get_local_id(0)] = b[i]; barrier(CLK_LOCAL_MEM_FENCE);
  a[i] = l[get_local_id(0)] + read_imagef(t, s, (int2)(i & 3, 0)).x + f.y + c + v.y[1]; }"""


def test_the_folder_shows_the_launch_again(monkeypatch, tmp_path, capsys):
    def image(device: Any) -> Any:
        spec = ImageSpec("image2d", 4, 1)
        view = device.view(device.allocate(device.view_nbytes(spec)), spec)
        device.write(view, np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4))
        return view

    struct = np.void(np.array([1], np.int32).tobytes() + np.array([2, 3], np.float32).tobytes())
    more = [image, Sampler(), Local(64), np.array([1, 2, 3, 4], np.float32), np.uint8(200), struct]
    run(EVERY_KIND, more=more)
    with monkeypatch.context() as spoiled:
        spoil(spoiled, storing(b"\7"))
        with pytest.raises(CodeDifference) as error:
            run(EVERY_KIND, more=more)
    folder = re.search(r"report the folder (\S+);", str(error.value))
    assert folder
    assert Path(folder[1]).parent == tmp_path
    assert (np.load(f"{folder[1]}/argument0.npy") == 0).all()  # as before the launch
    assert main(["kernel", "--launch", f"{folder[1]}/launch.toml"]) == 0, capsys.readouterr()
    with monkeypatch.context() as spoiled:
        spoil(spoiled, storing(b"\7"))
        assert main(["kernel", "--launch", f"{folder[1]}/launch.toml"]) != 0
    assert "optimised and not: a differs in 1 bytes" in "".join(capsys.readouterr())


def test_without_being_asked_launches_run_twice_in_a_small_part_of_their_time(monkeypatch, tally):
    switch(monkeypatch, "")
    kernels = (COPY.replace("2", str(number)) for number in range(3, 9))
    tally.seconds = 1e9  # of the time of this process there is none left
    run(next(kernels), times=5)
    assert not tally.same
    tally.seconds = -1e3
    run(next(kernels), times=5)
    assert tally.same == 1
    assert -1e3 < tally.seconds < -990
    switch(monkeypatch, "off")
    run(next(kernels))
    assert tally.same == 1


def test_a_switch_that_is_neither_is_refused(monkeypatch):
    switch(monkeypatch, "yes")
    with pytest.raises(AdrenoSimError, match="ADRENO_SIM_SECOND_RUN=yes: expected all or off"):
        run(COPY)


def test_a_launch_that_the_watchdog_ends_is_not_decided(monkeypatch, tally):
    spoil(monkeypatch, lambda result, args: result.findings.append(Finding(Kind.WATCHDOG, "", "k", 1, 1)))
    run(COPY)
    assert (tally.same, tally.undecided, tally.differing) == (0, 1, 0)


@pytest.mark.parametrize("checks", ["bounds", "full"])
@pytest.mark.parametrize("overlap", [True, False])
def test_below_full_arguments_that_share_written_memory_decide_nothing(monkeypatch, tally, overlap, checks):
    """Which work-item another one's element comes from is a matter of order there; at level full both runs have one order."""
    spoil(monkeypatch, storing(b"\7", at=13))
    device = adreno_sim.open_device("sim:adreno-740", checks=checks, cache=False)
    storage = device.allocate(16 * ITEMS)
    views = [device.view(storage, BufferSpec(4 * ITEMS, "float32"), at) for at in (0, 128 if overlap else 8 * ITEMS)]
    for view in views:
        device.write(view, np.ones(ITEMS, np.float32))
    kernel = device.build(COPY, "")["k"]
    if overlap and checks == "bounds":
        device.launch(kernel, (ITEMS,), (16,), views)
        assert (tally.undecided, tally.differing) == (1, 0)
    else:
        with pytest.raises(CodeDifference, match="a differs in 1 bytes from byte 13 on"):
            device.launch(kernel, (ITEMS,), (16,), views)
