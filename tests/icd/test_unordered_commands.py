"""Commands on the same bytes that nothing orders: each told, with both calls, and not told where something orders them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from shim_clients import compile_client, simulate

from adreno_sim.cli.main import main
from adreno_sim.frontend.driver import FrontEndTarget
from adreno_sim.frontend.program import compile_source
from adreno_sim.icd.ordering.happens_before import WINDOW, HappensBefore
from adreno_sim.ir.data_dependence import accesses_depend_on_memory

FIRST = r"\(call \d+ of thread \d+, queue \d\): neither waits for the other"
TOLD = [
    "queues_get reads bytes 0 to 4096 of buffer 1, which queues_set writes",
    "any_order_get reads bytes 0 to 4096 of buffer 5, which any_order_set writes",
    "halves_set writes bytes 2048 to 2064 of buffer 9, which halves_set writes",
    "a copy reads bytes 0 to 2048 of buffer 13, which a fill writes",
    "the host writes bytes 1024 to 2048 of buffer 15, which a copy writes",
    "the host reads bytes 8 to 72 of buffer 17, which blocking_set writes",
    "parts_get reads bytes 0 to 1024 of buffer 26, which parts_set writes",
    "through_get reads bytes 0 to 4096 of buffer 27, which through_set writes",
    "the host reads bytes 0 to 64 of buffer 35, which mapped_set writes",
    "look reads bytes 3072 to 4096 of image 43, which draw writes",
    "reset writes bytes 0 to 16 of buffer 44, which count writes",
]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> str:
    return compile_client("unordered", tmp_path_factory.mktemp("unordered"))


@pytest.mark.share()
@pytest.mark.parametrize("well", [False, True])
def test_commands_that_nothing_orders_are_told(client: str, well: bool, tmp_path: Path) -> None:
    report, again, trace = (tmp_path / name for name in ("report.json", "again.json", "trace.asim"))
    words = ["run", "--device", "sim:adreno-740", "--checks", "bounds", "--record", str(trace)]
    done = simulate(*words, "--json", str(report), "--", client, *["well"] * well)
    data = json.loads(report.read_text())
    found = [finding["message"] for finding in data["findings"]]
    assert [re.sub(rf" {FIRST}$", "", message) for message in found] == ([] if well else TOLD), done.stderr
    assert {finding["kind"] for finding in data["findings"]} == (set() if well else {"unordered-access"})
    assert all(re.search(f"{FIRST}$", message) for message in found)
    assert done.returncode == (not well)
    assert all(finding["detail"]["host_call"]["thread"] for finding in data["findings"])
    assert [line for line in data["unchecked"] if "kernel scatter touches the same bytes" in line]
    assert main(["replay", str(trace), "--json", str(again)]) == (not well)
    replayed = json.loads(again.read_text())
    assert replayed["findings"] == data["findings"]
    assert replayed["unchecked"] == data["unchecked"]


def before(order: HappensBefore, number: int, queue: int, *waits: int, **marks: bool) -> set[int]:
    return set(order.numbers(order.add(number, queue, waits, **marks)))


def test_a_queue_in_order_orders_itself() -> None:
    order = HappensBefore()
    assert before(order, 1, 1) == set()
    assert before(order, 2, 2) == set()
    assert before(order, 3, 1) == {1}
    assert before(order, 4, 1) == {1, 3}


def test_waits_order_through_others() -> None:
    order = HappensBefore()
    order.make_queue(1, False)
    assert before(order, 1, 1) == set()
    assert before(order, 2, 2, 1) == {1}
    assert before(order, 3, 1) == set()
    assert before(order, 4, 1, 2) == {1, 2}


def test_barriers_and_markers() -> None:
    order = HappensBefore()
    order.make_queue(1, False)
    before(order, 1, 1)
    assert before(order, 2, 1, all_before=True) == {1}  # a marker, for which nothing waits
    assert before(order, 3, 1) == set()
    assert before(order, 4, 1, all_before=True, barrier=True) == {1, 2, 3}
    assert before(order, 5, 1) == {1, 2, 3, 4}
    assert before(order, 6, 1, 5, barrier=True) == {1, 2, 3, 4, 5}  # with a wait list
    assert before(order, 7, 1) == {1, 2, 3, 4, 5, 6}


def test_what_the_host_knows_orders_what_it_enqueues_then() -> None:
    order = HappensBefore()
    for number in (1, 2, 3):
        before(order, number, number)
    order.note_known(1)
    assert before(order, 4, 4) == {1}
    before(order, 5, 2)
    order.note_queue_known(2, 2)  # clFinish returned before 5 was enqueued
    assert before(order, 6, 4) == {1, 2, 4}


def test_old_commands_count_as_ordered_and_take_no_memory() -> None:
    order = HappensBefore()
    order.make_queue(1, False)
    for number in range(1, 10 * WINDOW):
        order.add(number, 1, [number - 1] if number % 3 else [])
    assert order.base > 7 * WINDOW
    assert len(order._until) <= 2 * WINDOW
    assert order.set_of(5) == 0
    assert order.set_of(10 * WINDOW - 1).bit_length() <= 2 * WINDOW
    assert set(order.numbers(order.add(10 * WINDOW, 1, [5]))) == set()


SAME_BYTES = {
    "kernel void k(global float *a, int n) { int i = get_local_id(0); if (i < n) {float v = a[i]; a[i] = v > 0 ? v : 0;}}": False,
    "kernel void k(global float *a) { float v = a[0]; int n = 0; while (v > 1) { v /= 2; n++; } a[1] = v + n; }": False,
    "kernel void k(global float *a) { float v = a[0]; int n = 0; while (v > 1) { v /= 2; n++; } a[n] = v; }": True,
    "kernel void k(global int *a) { int n = a[0] ? 1 : 2; a[n] = 1; }": True,
    "kernel void k(global int *a) { if (a[0]) return; a[1] = 1; }": True,
    "kernel void k(global float *a) { float s = 0; for (int i = 0; i < 9; i++) s += a[i]; a[get_global_id(0)] = s; }": False,
    "kernel void k(global float4 *a) { vstore4(vload4(1, (global float *)a), 2, (global float *)a); }": False,
    "kernel void k(read_only image2d_t i, global float4 *a) { a[0] = read_imagef(i, (int2)(1, 2)); }": False,
    "kernel void k(volatile global int *a) { atomic_add(&a[1], 3); }": False,
    "kernel void k(global int *a) { a[a[0]] = 1; }": True,
    "kernel void k(global int *a) { if (a[0]) a[1] = 1; }": True,
    "kernel void k(global int *a) { for (int i = 0; i < a[0]; i++) a[i + 1] = 1; }": True,
    "kernel void k(global int *a, volatile global int *next) { a[atomic_inc(next)] = 1; }": True,
    "kernel void k(read_only image2d_t i, global int *a) { a[read_imagei(i, (int2)(0, 0)).x] = 1; }": True,
    "kernel void k(global int *a, write_only image2d_t i) { write_imagei(i, (int2)(a[0], 0), (int4)(1)); }": True,
    "kernel void k(global int *a) { vstore4((int4)(1), a[0], a); }": True,
    "kernel void k(global int *a) { int v = vload4(a[0], a).x; a[0] = v; }": True,
}


@pytest.mark.parametrize("source", SAME_BYTES)
def test_whether_accesses_depend_on_memory(source: str) -> None:
    kernel = compile_source(source, "", target=FrontEndTarget()).kernels["k"]
    assert accesses_depend_on_memory(kernel) == SAME_BYTES[source]
