"""The comparison with Mesa's own OpenCL driver: what that says of kernels is read; with it and corpora at hand, the two agree."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from corpora import rusticl
from corpora.source import Source

JUDGE, CORPORA = "ADRENO_SIM_RUSTICL", "ADRENO_SIM_CORPORA"
SAID = """\
device FD740
MESA: info: decl_function __wrapped_first () (entrypoint)
MESA: info: Native code for unnamed CL shader (null) with sha1 f3:
MESA: info: ; num_ubos:           0
MESA: info: @in(r0.x)\tin1 (wrmask=0x7)
MESA: info: shps #l3
MESA: info: mov.u32u32 r48.x, 3
MESA: info: shpe
MESA: info: l3:
MESA: info: (nop2) add.f r0.x, r0.y, r0.z
MESA: info: (rpt1)mul.f r1.x, (r)r0.x, (r)r2.x
MESA: info: stg.u32 g[r0.y], r1.x, 2
MESA: info: end
MESA: info: nop
MESA: info: ; CL prog 1/1: 12 instr, 4 nops, 8 non-nops, 1 mov, 0 cov, 16 dwords
MESA: info: ; CL prog 1/1: 0 last-baryf, 0 last-helper, 9 half, 3 full, 16 constlen
MESA: info: decl_function __wrapped_second () (entrypoint)
MESA: info: Native code for unnamed CL shader (null) with sha1 f4:
MESA: info: end
MESA: info: ; CL prog 2/1: 0 last-baryf, 0 last-helper, 0 half, 1 full, 16 constlen
=== KERNELS 2 of /kernels/k.cl (0)
"""


def test_what_the_driver_says_is_read():
    codes = dict(rusticl.read_codes(SAID.splitlines()))
    assert {name: (code.registers, code.count) for name, code in codes.items()} == {"first": (5, 5), "second": (1, 1)}
    assert codes["first"].instructions.preamble == 3
    first, second = codes["first"], codes["second"]
    said = rusticl.compare([rusticl.Pair("a", first, second, False), rusticl.Pair("b", second, second, False)])
    assert str(said) == "2 kernels: registers equal for 50%, within 2 for 50%; instructions within 15% for 50%"


def test_a_judge_that_ended_goes_on_behind_that_source_and_a_second_run_asks_for_none(tmp_path, monkeypatch):
    sources = [Source(name, f"kernel void {name}() {{}}", "") for name in ("first", "second", "third")]
    asked = []

    def start(judge, left):
        """The driver ends in the second source, before it says that its kernels are built."""
        asked.append([source.name for source in left])
        whole = "".join(f"=== FILE {name}\n{SAID}" for name in asked[-1])
        text = whole.partition("=== FILE second\n")[0] + "=== FILE second\nMESA" if "second" in asked[-1] else whole
        return subprocess.Popen([sys.executable, "-c", f"print({text!r})"], stdout=subprocess.PIPE, text=True)

    monkeypatch.setattr(rusticl, "_start_driver", start)
    for _ in range(2):
        found = {source.name: sorted(codes) for source, codes in rusticl.ask_judge(tmp_path, sources)}
        assert found == {"first": ["first", "second"], "second": [], "third": ["first", "second"]}
    assert asked == [["first", "second", "third"], ["third"]]


@pytest.mark.slow
@pytest.mark.skipif(not {JUDGE, CORPORA} <= os.environ.keys(), reason=f"{JUDGE}: what ci/rusticl/build.sh made; {CORPORA}")
def test_it_agrees():
    pairs = list(rusticl.compare_kernels(Path(os.environ[CORPORA]), Path(os.environ[JUDGE]), 100, 0))
    found = rusticl.compare([pair for pair in pairs if not pair.apart])
    assert found.kernels >= 100
    assert min(found.equal - 0.8, found.near - 0.95, found.alike - 0.9) >= 0, str(found)
