"""Other people's kernels: the modules that read them, on made-up files; the whole campaign with --slow."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import tarfile
from pathlib import Path

import pytest
from corpora import archives, campaign, opencv, summary
from corpora.archives import Archive, ArchiveError, unpack
from corpora.campaign import compile_all, launch_some
from corpora.known import ALLOWED, REASONS
from corpora.source import Source

ROOT = Path(__file__).resolve().parents[3]

GOOD = Source("made/good.cl", "kernel void k(global float *a, local int *t, int n) { if (get_global_id(0) < n) a[0] = 1; }", "")
BAD = Source("made/bad.cl", "kernel void k(global float *a) { a[0] = b; }", "")


def test_what_builds_compiles_and_runs_and_what_does_not_is_named():
    lines = compile_all([GOOD, BAD], jobs=1)
    (compiled,) = (line for line in lines if "compiled" in line)
    assert compiled["compiled"] == "made/good.cl:k"
    assert 0 < compiled["build"] < compiled["seconds"]
    (refused,) = (line for line in lines if "refused" in line)
    assert refused["refused"] == "made/bad.cl"
    assert "undeclared identifier 'b'" in refused["why"]
    (launched,) = launch_some([GOOD, BAD], lines, 300, 1, jobs=2)
    assert launched["launched"] == "made/good.cl:k"
    assert "internal" not in launched


def figures(**changes):
    lines = [{"compiled": f"made/x.cl:{n}", "build": 0.1, "seconds": 1.0} for n in range(1999)]
    lines.append({"compiled": "made/x.cl:last", "build": 0.1, "seconds": 1.0, **changes})
    return lines


@pytest.mark.parametrize(
    ("lines", "verdict", "said"),
    [
        (figures(), "accepts", ""),
        (figures(seconds=2.5), "accepts", ""),
        (figures(seconds=5.5), "accepts", "made/x.cl:last compiles in 5.50 s"),
        (figures() + [figures(seconds=3.0)[-1]] * 4, "accepts", "4 of 2004 kernels take more than 2 s"),
        (figures(internal="KeyError: 1"), "accepts", "made/x.cl:last: KeyError: 1"),
        (figures() + [{"died": "made/x.cl:k", "why": "SIGSEGV"}], "accepts", "made/x.cl:k: the process ended: SIGSEGV"),
        (figures() + [{"refused": "made/good.cl", "why": "no"}], "accepts", "made/good.cl: a real compiler takes it"),
        (figures() + [{"refused": "made/good.cl", "why": "no"}], "refuses: no", ""),
    ],
)
def test_what_counts_as_a_fault(lines, verdict, said):
    found = summary.summarise([GOOD], lines, lambda source: verdict)
    faults = summary.find_faults(found, ("made/other.cl",))
    assert (len(faults) == 1 and faults[0].startswith(said)) if said else not faults
    assert not summary.find_faults(
        {**found, "internal errors": [], "died": [], "compile seconds": {**found["compile seconds"], "over 2": 0, "most": 0.0}},
        ("made/good.cl",),
    )
    assert "compile time" in summary.describe(found)


def test_options_expand_as_a_shell_does():
    assert opencv.expand("-D A={1,2} {,-D B}") == ["-D A=1 ", "-D A=1 -D B", "-D A=2 ", "-D A=2 -D B"]
    assert opencv.read_table("# x\na.cl: -D {A,B}\n: -D C\nb.cl:\n") == {"a.cl": ["-D A", "-D B", "-D C"], "b.cl": [""]}


def test_an_archive_is_the_one_that_is_pinned(tmp_path):
    (tmp_path / "k.cl").write_text("kernel void k() {}")
    with tarfile.open(tmp_path / "made.tar.gz", "w:gz") as tar:
        tar.add(tmp_path / "k.cl", "made-1/src/k.cl")
        tar.add(tmp_path / "k.cl", "made-1/other/k.cl")
    digest = hashlib.sha256((tmp_path / "made.tar.gz").read_bytes()).hexdigest()
    with pytest.raises(ArchiveError, match="expected SHA-256 0000"):
        unpack(Archive("made.tar.gz", "http://localhost:9/", "0000", "src/.+"), tmp_path)
    with pytest.raises(ArchiveError, match="no member"):
        unpack(Archive("made.tar.gz", "http://localhost:9/", digest, "none/.+"), tmp_path)
    folder = unpack(Archive("made.tar.gz", "http://localhost:9/", digest, "src/.+"), tmp_path)
    assert [str(file.relative_to(folder)) for file in folder.rglob("*.cl")] == ["src/k.cl"]
    with pytest.raises(ArchiveError, match="does not give it"):
        unpack(Archive("none.tar.gz", "http://localhost:9/", digest, "src/.+"), tmp_path)


def test_a_part_of_one_corpus_fetches_no_other(monkeypatch, tmp_path):
    asked = []
    made = {name: lambda folder, name=name: asked.append(name) or [Source(f"{name}/a.cl", "", "")] for name in ("one", "two")}
    monkeypatch.setattr(campaign, "CORPORA", made)
    assert [source.name for source in campaign.gather(tmp_path, "two/a")] == ["two/a.cl"]
    assert asked == ["two"]
    assert len(campaign.gather(tmp_path, "a.cl")) == 2


def test_what_is_let_pass_is_listed_in_the_docs():
    page = (ROOT / "docs/fidelity.md").read_text()
    assert ALLOWED
    assert all(name in page for name in REASONS)


@pytest.mark.slow
def test_all_of_them(tmp_path):
    """Half an hour. The archives stay in ADRENO_SIM_CORPORA, if that is set."""
    folder = Path(os.environ.get("ADRENO_SIM_CORPORA", tmp_path))
    try:
        for archive in (archives.GGML, archives.OPENCV, archives.CLBLAST, archives.DARKTABLE):
            unpack(archive, folder)
    except ArchiveError as error:
        pytest.skip(str(error))
    done = subprocess.run(["bash", str(ROOT / "ci/corpora.sh"), str(folder)], capture_output=True, text=True, check=False)
    found = json.loads((folder / "summary.json").read_text()) if done.returncode in (0, 1) else {}
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert sum(found["kernels"].values()) > 2000
    assert found["launches"] == 300
