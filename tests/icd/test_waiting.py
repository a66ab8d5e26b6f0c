"""Who waits at the ring is woken when what it waits for is complete, and not before."""

from __future__ import annotations

import ctypes
import struct
import threading

import pytest

from adreno_sim.icd.protocol import COUNTERS, NOTHING_WANTED, PAGE
from adreno_sim.icd.waiting import load_waiting


class Page:
    """The counters of a link, and the server's half of them."""

    def __init__(self, **values: int):
        self._memory = ctypes.create_string_buffer(PAGE)
        self._advance = load_waiting().advance
        for name, value in {"wanted": NOTHING_WANTED, **values}.items():
            struct.pack_into("<Q" if name == "wanted" else "<I", self._memory, COUNTERS[name], value)

    def publish(self, completed: int) -> None:
        self._advance(ctypes.addressof(self._memory), 0, completed, 0, 0)

    def number(self, name: str) -> int:
        return struct.unpack_from("<Q" if name == "wanted" else "<I", self._memory, COUNTERS[name])[0]


def test_nobody_is_woken_for_commands_that_nobody_waits_for() -> None:
    page = Page(clients_sleep=1, wanted=1000)
    for number in range(1, 1000):
        page.publish(number)
    assert page.number("done") == 0
    assert page.number("wanted") == 1000
    page.publish(1000)
    assert page.number("done") == 1
    assert page.number("wanted") == NOTHING_WANTED


def test_a_number_that_was_skipped_is_there_too() -> None:
    page = Page(clients_sleep=2, wanted=5)
    page.publish(9)
    assert page.number("done") == 1


@pytest.mark.parametrize("values", [{"clients_sleep": 0, "wanted": 1}, {"clients_sleep": 1}])
def test_no_call_of_the_system_where_nobody_sleeps(values: dict[str, int]) -> None:
    page = Page(**values)
    page.publish(7)
    assert page.number("done") == 0


def test_a_sleeper_wakes() -> None:
    page = Page(clients_sleep=1, wanted=3)
    libc, woken = ctypes.CDLL(None, use_errno=True), threading.Event()
    at = ctypes.addressof(page._memory) + COUNTERS["done"]

    def sleep() -> None:
        libc.syscall(202, ctypes.c_void_p(at), 0, 0, None, None, 0)
        woken.set()

    threading.Thread(target=sleep, daemon=True).start()
    for number in (1, 2):
        page.publish(number)
    assert not woken.wait(0.05)
    page.publish(3)
    assert woken.wait(30)


def test_a_server_that_sleeps_is_woken_to_look_whether_it_is_to_end() -> None:
    page, waiting = Page(), load_waiting()
    at = ctypes.addressof(page._memory)
    sleeper = threading.Thread(target=waiting.advance, args=(at, 0, 0, 0, 600 * 10**9), daemon=True)
    sleeper.start()
    while sleeper.is_alive():  # it may not sleep yet
        waiting.wake(at)
        sleeper.join(0.01)
    assert page.number("server_sleeps") == 0
