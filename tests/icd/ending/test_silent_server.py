"""A server that shows no life is waited for no longer than a limit; one that lives, as long as it takes."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from fake_shim import Shim
from shim_clients import compile_changed, fake_environment

from adreno_sim.icd.protocol import BEAT, COUNTERS

SECONDS = 2
TOLD = f"adreno-sim: the simulator has shown no sign of life for {SECONDS} s; from now on OpenCL's functions return"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A client whose driver is less patient than it is for users."""
    change = "core/link.c", "#define SILENT_SECONDS 120", f"#define SILENT_SECONDS {SECONDS}"
    return compile_changed("silent", tmp_path_factory.mktemp("silent"), change)


SILENT = ("request", "long_request", "launch", "ring")
SLOW = ("slow_build", "slow_launch")


@pytest.fixture(scope="module")
def ended(client: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str, float]]:
    """Exit code, errors and seconds of the client in each case. All cases run at once, since what they do is wait."""

    def run(case: str) -> tuple[int, str, float]:
        folder = tmp_path_factory.mktemp(case)
        began = time.monotonic()
        with open(folder / "said", "w+") as said:  # no pipe: the server that is stopped holds its end
            done = subprocess.run([client, case], env=fake_environment(folder), stderr=said, timeout=60)
            said.seek(0)
            return done.returncode, said.read(), time.monotonic() - began

    cases = (*SILENT, *SLOW)
    with ThreadPoolExecutor(len(cases)) as pool:
        return dict(zip(cases, pool.map(run, cases), strict=True))


@pytest.mark.share()
@pytest.mark.parametrize("case", SILENT)
def test_a_silent_server_is_given_up(ended: dict[str, tuple[int, str, float]], case: str) -> None:
    code, said, seconds = ended[case]
    assert code == 0, said
    assert said.count(TOLD) == 1
    assert said.count("adreno-sim:") == 1
    assert seconds >= SECONDS


@pytest.mark.share()
@pytest.mark.parametrize("case", SLOW)
def test_a_server_at_work_is_waited_for(ended: dict[str, tuple[int, str, float]], case: str) -> None:
    """Each takes longer than a server may be silent."""
    code, said, seconds = ended[case]
    assert code == 0, said
    assert "adreno-sim:" not in said, said
    assert seconds >= 2 * SECONDS


def test_the_real_server_shows_its_life(connect: Callable[..., Shim]) -> None:
    shim = connect()
    seen: set[bytes] = set()
    for _ in range(60):
        seen.add(bytes(shim.memory[COUNTERS["alive"] : COUNTERS["alive"] + 4]))
        if len(seen) > 2:
            return
        time.sleep(BEAT / 4)
    raise AssertionError(seen)
