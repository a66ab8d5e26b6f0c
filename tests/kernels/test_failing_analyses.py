"""An analysis that fails proves nothing: the launch gives what it gives without it, and its report says which analysis failed."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from adreno_sim.backends.open import open_device
from adreno_sim.base.specs import BufferSpec
from adreno_sim.cli.main import main
from adreno_sim.engine.analysis import active_items, affine, failures, intervals, loop_bounds
from adreno_sim.engine.prove import launch as launch_proofs
from adreno_sim.engine.vector import lane_shapes
from adreno_sim.launch_spec.read import read_launch
from adreno_sim.launch_spec.run import run_launch

CORPUS = Path(__file__).parent / "corpus"
SOURCE = """__kernel void k(__global int *a, __global const int *b, int n) {
  __local int t[16];
  int i = get_global_id(0), l = get_local_id(0), s = 0;
  t[l] = b[i];
  for (int h = 8; h > 0; h /= 2) { barrier(CLK_LOCAL_MEM_FENCE); if (l < h) t[l] += t[l + h]; }
  for (int j = 0; j < n; ++j) s += b[j];
  if (l == 0) a[get_group_id(0)] = t[0] + s;
}"""

PARTS = {  # what is broken, what the report names, and which code asks for it
    "affine": (affine.AffineForms, "of", "proofs about kernel k", {"bounds", "full"}, {"scalar", "spmd"}),
    "intervals": (intervals.Intervals, "of", "ranges of integers", {"bounds"}, {"spmd"}),
    "active items": (active_items, "is_side_effect_free", "work-items without effect", {"bounds", "full"}, {"scalar"}),
    "lengths of loops": (loop_bounds, "trip_count", "lengths of loops", {"bounds", "full"}, {"scalar", "spmd"}),
    "lane shapes": (lane_shapes.LaneShapes, "__init__", "vector code of kernel k", {"bounds"}, {"spmd"}),
}
CASES = [(part, *how) for part in PARTS for how in itertools.product(*map(sorted, PARTS[part][3:]))]
_numbers = itertools.count()


def broken(*_: object, **__: object) -> None:
    raise ZeroDivisionError


def launched(checks: str, emitter: str) -> tuple[list[int], list[str], tuple[str, ...]]:
    """Values, findings and failed analyses of a kernel that no cache knows."""
    device = open_device(None, checks=checks, emitter=emitter, cache=False)
    views = []
    for data in (np.zeros(4, np.int32), np.arange(64, dtype=np.int32)):
        view = device.view(device.allocate(data.nbytes), BufferSpec(data.nbytes, "int32"))
        device.write(view, data)
        views.append(view)
    result = device.launch(device.build(f"{SOURCE} // {next(_numbers)}")["k"], (64,), (16,), [*views, np.int32(3)])
    return device.read(views[0]).tolist(), [f.kind.label for f in result.findings], result.failures


@pytest.mark.share()
@pytest.mark.parametrize(("part", "checks", "emitter"), CASES)
def test_the_launch_goes_on_and_says_so(monkeypatch, part, checks, emitter):
    owner, name, told = PARTS[part][:3]
    good = launched(checks, emitter)
    assert good == ([sum(range(16 * g, 16 * g + 16)) + 3 for g in range(4)], [], ())
    monkeypatch.setattr(owner, name, broken)
    with pytest.raises(ZeroDivisionError):
        launched(checks, emitter)
    monkeypatch.delenv(failures.STRICT)
    values, found, failed = launched(checks, emitter)
    assert (values, found) == good[:2]
    assert any(sentence.startswith(f"{told}: the analysis failed (ZeroDivisionError at ") for sentence in failed)
    assert len(set(failed)) == len(failed)


def test_a_proof_that_fails_takes_no_other_with_it(monkeypatch):
    """Nor does one that comes later rest on what the failed one left half made."""
    used = []

    def fail(analysis):
        used.append(analysis)
        raise ZeroDivisionError

    def note(analysis, whole=launch_proofs.race_free_local_arrays):
        used.append(analysis)
        return whole(analysis)

    monkeypatch.setattr(launch_proofs, "single_writer_args", fail)
    monkeypatch.setattr(launch_proofs, "race_free_local_arrays", note)
    monkeypatch.delenv(failures.STRICT)
    *_, failed = launched("full", "spmd")
    assert [sentence.partition(":")[0] for sentence in failed] == ["single writers of kernel k"]
    assert len(used) == 2
    assert used[0] is not used[1]


@pytest.mark.parametrize("variant", ["", "clean"])
def test_the_report_of_a_launch_says_so(monkeypatch, capsys, tmp_path, variant):
    path = tmp_path / "two_defects.toml"
    for suffix in (".toml", ".cl"):
        text = (CORPUS / "out-of-bounds-write" / "two_defects").with_suffix(suffix).read_text()
        path.with_suffix(suffix).write_text(text + ("" if suffix == ".toml" else f"// {next(_numbers)} {tmp_path}"))
    monkeypatch.setattr(affine.AffineForms, "of", broken)
    monkeypatch.delenv(failures.STRICT)
    report = run_launch(read_launch(path, variant), path.with_suffix(".cl"), variant=variant)
    assert report.ok
    assert any("the analysis failed (ZeroDivisionError" in sentence for sentence in report.unchecked)
    assert main(["kernel", str(path.with_suffix(".cl")), "--launch", str(path), "--variant", variant]) == 0
    assert "not checked: proofs about kernel" in capsys.readouterr().out


def test_a_kernel_nested_too_deeply_is_no_failure_but_said(monkeypatch):
    def too_deep(*_: object) -> None:
        raise RecursionError

    monkeypatch.setattr(affine.AffineForms, "of", too_deep)
    *_, failed = launched("bounds", "spmd")
    assert failed == ("proofs about kernel k: the kernel is nested too deeply to analyse",)
