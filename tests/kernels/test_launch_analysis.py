"""What is known of a launch is found out once: for launches alike, whatever shadows they have, and for other processes."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adreno_sim
from adreno_sim.base.specs import BufferSpec
from adreno_sim.device.protocol import Device, Watch
from adreno_sim.engine.abi.specialization import BufferArg, ShadowSpec
from adreno_sim.engine.prove import launch as launch_proofs
from adreno_sim.engine.prove.in_range import AccessAnalysis

PROOFS = ("prove_in_range", "single_writer_args", "race_free_local_arrays", "written_local_arrays")
SOURCE = """kernel void k(global int *a, global const int *b, float x, int n) {
  local int t[8];
  int i = get_global_id(0), l = get_local_id(0);
  t[l] = b[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  a[i] = t[7 - l] + (int)x + n;
}"""
_numbers = itertools.count()


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[tuple[str, int]]:
    """How often each proof was made, by its name and the number of the launch that it is about, in order of appearance."""
    counted: Counter[tuple[str, int]] = Counter()
    launches: dict[Any, int] = {}
    for name in PROOFS:
        whole = getattr(launch_proofs, name)

        def noted(analysis: AccessAnalysis, whole: Any = whole, name: str = name) -> Any:
            about = id(analysis.function), analysis.spec, analysis.forms.facts
            counted[name, launches.setdefault(about, len(launches))] += 1
            return whole(analysis)

        monkeypatch.setattr(launch_proofs, name, noted)
    return counted


def ints(device: Device, count: int, written: bool = True, offset: int = 0, storage: Any = None) -> Any:
    spec = BufferSpec(4 * count, "int32")
    view = device.view(storage or device.allocate(spec.nbytes), spec, offset)
    if written:
        device.write(view, np.arange(count, dtype=np.int32))
    return view


def opened(checks: str, **options: Any) -> tuple[Device, Any]:
    """A device, and a kernel that nothing is known of."""
    device = adreno_sim.open_device("sim:reference", checks=checks, **options)
    return device, device.build(f"{SOURCE} // {os.getpid()} {next(_numbers)}")["k"]


@pytest.mark.parametrize(("checks", "made"), [("off", 1), ("bounds", 1), ("full", 4)])
def test_launches_alike_are_proven_once(calls: Counter[tuple[str, int]], checks: str, made: int) -> None:
    device, kernel = opened(checks, cache=False)
    first, second, third = (ints(device, 64) for _ in range(3))
    for views in ([first, second], [first, second], [third, first]):
        for x in (0.5, 1.5):  # no fact: nothing is proven of floats
            assert not device.launch(kernel, (64,), (8,), [*views, x, 3]).findings
    assert calls == Counter({(name, 0): 1 for name in PROOFS[:made]})
    device.launch(kernel, (64,), (8,), [first, second, 0.5, 4])
    device.launch(kernel, (32,), (8,), [first, second, 0.5, 3])
    device.launch(kernel, (64,), (8,), [ints(device, 80), second, 0.5, 3])
    assert calls == Counter({(name, number): 1 for name in PROOFS[:made] for number in range(4)})


def test_what_is_asked_of_a_launch_is_what_the_launch_finds_out(calls: Counter[tuple[str, int]]) -> None:
    device, kernel = opened("full", cache=False)
    args = [ints(device, 64), ints(device, 64), 0.5, 3]
    told = device.explain(kernel, (64,), (8,), args)
    assert told is device.explain(kernel, (64,), (8,), args)
    assert not told.unproven
    device.launch(kernel, (64,), (8,), args)
    assert set(calls.values()) == {1}


def test_proofs_serve_whatever_the_shadows_are(calls: Counter[tuple[str, int]]) -> None:
    """Views of their own, an input that is unwritten in part, and two views of one storage: three layouts, one analysis."""
    device, kernel = opened("full", cache=False)
    storage = device.allocate(1024)
    apart = [ints(device, 64), ints(device, 64)]
    unwritten = [ints(device, 64), ints(device, 64, written=False)]
    shared = [ints(device, 64, storage=storage), ints(device, 64, storage=storage, offset=512)]
    found = [device.launch(kernel, (64,), (8,), [*views, 0.5, 3]).findings for views in (apart, unwritten, shared, apart)]
    assert [{finding.kind.label for finding in findings} for findings in found] == [set(), {"uninitialized-read"}, set(), set()]
    assert calls == Counter({(name, 0): 1 for name in PROOFS})
    analysis = device.prepare(kernel, (64,), (8,), [*apart, 0.5, 3]).config.analysis
    assert analysis is not None
    assert analysis.proven.single_writer >= {0}
    assert analysis.changed == {0}
    assert analysis.cells == {0: ShadowSpec(0, 4, written_whole=True), 1: ShadowSpec()}
    shadows = [[arg.shadow for arg in variant.spec.args if isinstance(arg, BufferArg)] for variant in analysis._variants.values()]
    assert shadows == [
        [ShadowSpec(0, 4, written_whole=True), None],
        [ShadowSpec(0, 4, written_whole=True), ShadowSpec()],
        [ShadowSpec(4, 4), ShadowSpec(4, 4)],
    ]


def test_a_watch_relies_on_no_proof_and_makes_none(calls: Counter[tuple[str, int]]) -> None:
    device, kernel = opened("full", cache=False)
    args = [ints(device, 64), ints(device, 64), 0.5, 3]
    device.launch(kernel, (64,), (8,), args)
    watched = device.launch(kernel, (64,), (8,), args, watch=Watch(args[0], 9))
    assert [event.value for event in watched.stores] == [14 + 3]
    assert set(calls.values()) == {1}
    assert {number for _, number in calls} == {0}


ANOTHER_PROCESS = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from collections import Counter
from adreno_sim.engine.prove import launch as launch_proofs
counted = Counter()
for name in {PROOFS!r}:
    def noted(analysis, whole=getattr(launch_proofs, name), name=name):
        counted[name] += 1
        return whole(analysis)
    setattr(launch_proofs, name, noted)
import numpy as np
import adreno_sim
from adreno_sim.base.specs import BufferSpec
for checks in ("bounds", "full"):
    device = adreno_sim.open_device("sim:reference", checks=checks)
    kernel = device.build({SOURCE!r})["k"]
    views = []
    for _ in range(2):
        views.append(device.view(device.allocate(256), BufferSpec(256, "int32")))
        device.write(views[-1], np.arange(64, dtype=np.int32))
    for n in (3, 3, 4):
        result = device.launch(kernel, (64,), (8,), [*views, 0.5, n])
        assert not result.findings and result.accesses.places == result.accesses.proven_places == 4
        print(device.read(views[0]).sum(), result.accesses)
print([counted[name] for name in {PROOFS!r}])
"""


def test_another_process_proves_nothing_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADRENO_SIM_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("ADRENO_SIM_CACHE", raising=False)
    told = []
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", ANOTHER_PROCESS], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        told.append(done.stdout.splitlines())
    assert [lines.pop() for lines in told] == ["[4, 2, 2, 2]", "[0, 0, 0, 0]"]
    assert told[0] == told[1]
    assert len(list((tmp_path / "proofs").iterdir())) == 4
