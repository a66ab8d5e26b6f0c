"""Programs are built once, ahead of who asks where the device gains by it, and fail where they are asked for."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field, replace

import handmade
import pytest

from adreno_sim.base.errors import BuildError
from adreno_sim.compiler.artifact import host_function as h
from adreno_sim.compiler.artifact import vm_function as v
from adreno_sim.compiler.run.builds import AHEAD, Builds, find_order
from adreno_sim.device.protocol import DeviceInfo


@dataclass
class Compiler:
    """A device that only builds. `open` lets builds of other threads end."""

    parallel: bool = True
    built: Counter[str] = field(default_factory=Counter)
    threads: set[str] = field(default_factory=set)
    open: threading.Event = field(default_factory=threading.Event)

    @property
    def info(self) -> DeviceInfo:
        return replace(DeviceInfo("fake", "sim", "", frozenset(), {}), builds_in_parallel=self.parallel)

    def build(self, source: str, options: str = "") -> str:
        self.built[source] += 1
        self.threads.add(threading.current_thread().name)
        if threading.current_thread() is not threading.main_thread():
            assert self.open.wait(10)
        if source == "k3":
            raise BuildError("1:1: error: expected expression")
        return f"program {source}"


NAMES = [f"k{number}" for number in range(12)]


def builds(device: Compiler) -> Builds:
    model = handmade.branch()
    code = model.kernels["add_one"]
    return Builds(replace(model, kernels={name: replace(code, source=name) for name in NAMES}), device)  # type: ignore[arg-type]


def test_those_that_follow_are_built_meanwhile_and_no_others():
    device = Compiler()
    made = builds(device)
    assert made.program("k0") == "program k0"
    device.open.set()
    assert made.program("k1") == "program k1"
    assert made.program("k0") == "program k0"
    made.close()
    assert set(device.built.values()) == {1}
    assert set(device.built) <= set(NAMES[: 2 + AHEAD])
    assert len(device.threads) > 1


def test_a_failure_waits_until_it_is_asked_for():
    device = Compiler()
    device.open.set()
    made = builds(device)
    made.begin(NAMES)
    assert [made.program(name) for name in ("k2", "k11")] == ["program k2", "program k11"]
    for _ in range(2):
        with pytest.raises(BuildError, match="kernel k3: 1:1: error"):
            made.program("k3")
    made.close()
    assert all(device.built[name] == 1 for name in NAMES if name != "k3")


def test_a_device_that_builds_one_at_a_time_has_no_threads():
    device = Compiler(parallel=False)
    made = builds(device)
    made.begin(NAMES)
    assert made.program("k5") == "program k5"
    assert device.built == {"k5": 1}
    assert device.threads == {"MainThread"}
    made.close()


def test_the_end_forgets_what_was_not_begun(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})
    device = Compiler()
    made = builds(device)
    made.begin(NAMES)
    threading.Timer(0.05, device.open.set).start()
    made.close()
    assert 0 < len(device.built) < len(NAMES)


def test_what_was_built_before_the_end_is_there_after_it():
    device = Compiler()
    device.open.set()
    made = builds(device)
    made.begin(NAMES)
    assert made.program("k11") == "program k11"
    made.close()
    before = set(device.built)
    made.begin(NAMES)
    assert [made.program(name) for name in NAMES if name != "k3"] == [f"program {name}" for name in NAMES if name != "k3"]
    made.close()
    assert before <= set(device.built) == set(NAMES)
    assert all(count == 1 for count in device.built.values())


def test_kernels_are_in_the_order_in_which_the_program_comes_to_them():
    model = handmade.calls()
    host, code = model.host_functions["add_one"], model.kernels["add_one"]

    def launching(*kernels: str) -> h.HostFunction:
        return replace(host, name=kernels[0], body=tuple(replace(host.launches()[0], kernel=kernel) for kernel in kernels))

    names = ("a", "b", "c", "d", "e")
    functions = {
        "aside": v.VMFunction("aside", ("x",), (v.CallHost("e", (v.Reg("x"),)), v.CallVM("y", "main", (v.Reg("x"),)))),
        "main": v.VMFunction("main", ("x",), (v.CallVM("y", "packing", (v.Reg("x"),)), v.CallHost("a", (v.Reg("y"),)))),
        "packing": v.VMFunction("packing", ("x",), (v.CallHost("c", (v.Reg("x"),)),)),
    }
    program = replace(
        model,
        kernels=dict.fromkeys(names, code),
        host_functions={"a": launching("a", "b", "c"), "c": launching("c"), "e": launching("e")},
        functions=functions,
    )
    assert find_order(program) == ["c", "a", "b", "e", "d"]
    assert find_order(replace(program, functions={}, host_functions={})) == [*names]
