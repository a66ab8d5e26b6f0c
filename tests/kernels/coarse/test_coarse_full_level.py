"""Several work-groups run as one at level full: what runs so, and that all is found that one work-item after the other finds."""

from __future__ import annotations

import numpy as np
import pytest

from adreno_sim.base.specs import Local
from adreno_sim.frontend import program

from .coarse_runs import run, run_both
from .test_tree_reductions import FIRST, HEAD, LAST, steps

GROUPS, ITEMS = 40, 8
DATA = np.random.default_rng(2).integers(1, 20, GROUPS * ITEMS).astype(np.float32)
LATE = np.ma.array(DATA, mask=np.arange(DATA.size) == 133)
"""One element was never written."""

THRICE = "for (int n = 0; n < 3; n++)"
LAST_STEP = "a[l] = v; B; out[i] = a[7 - l];"

KERNELS = {  # body; the input; whether groups run as one; kinds of findings
    "all is written": ("a[l] = in[g * 8 + l]; B; out[i] = a[7 - l];", DATA, True, []),
    "an element of the input is not": ("a[l] = in[g * 8 + l]; B; out[i] = a[7 - l];", LATE, False, ["uninitialized-read"]),
    "nobody reads that element": ("a[l] = in[g]; B; out[i] = a[7 - l];", LATE, True, []),
    "local memory, all but one": ("if (l != 3) a[l] = in[i]; B; out[i] = a[7 - l];", DATA, False, ["uninitialized-read"]),
    "local memory, but for whom it concerns": ("if (l != 3) a[l] = in[i]; B; if (l != 4) out[i] = a[7 - l];", DATA, True, []),
    "local memory in all groups but one": (
        "if (g != 17) a[l] = in[i]; B; out[i] = a[7 - l];", DATA, False, ["uninitialized-read"],
    ),
    "local memory of the group before": (
        "if (g == 0) a[l] = in[i]; B; if (g < 2) out[i] = a[l];", DATA, False, ["uninitialized-read"],
    ),
    "a private array": (
        "float p[4]; for (int n = 0; n < 4; n++) p[n] = in[i] + n; a[l] = p[l & 3] + p[2]; B; out[i] = a[7 - l];", DATA, True, [],
    ),
    "a private array that one group does not fill": (
        "float p[4]; for (int n = 0; n < 4; n++) if (g != 7 || n) p[n] = in[i] + n; a[l] = p[0] + p[2]; B; out[i] = a[7 - l];",
        DATA, False, ["uninitialized-read"],
    ),
    "a private array of each iteration": (
        f"float v = 0; {THRICE} {{ float p[4]; for (int m = 0; m < 4; m++) p[m] = in[i] + m; v += p[n]; }} {LAST_STEP}",
        DATA, True, [],
    ),
    "a private array of each iteration, set in the first": (
        f"float v = 0; {THRICE} {{ float p[4]; if (!n || g != 7) for (int m = 0; m < 4; m++) p[m] = in[i] + m; v += p[n]; }} "
        f"{LAST_STEP}",
        DATA, False, ["uninitialized-read"],
    ),
    "a private array of all iterations, set in the first": (
        f"float v = 0, p[4]; {THRICE} {{ if (!n || g != 7) for (int m = 0; m < 4; m++) p[m] = in[i] + m; v += p[n]; }} "
        f"{LAST_STEP}",
        DATA, True, [],
    ),
    "a race in local memory": ("a[l] = in[i]; B; a[(l + 1) & 7] += 1; out[i] = a[l];", DATA, False, ["data-race"]),
    "a race that a barrier prevents": (
        "a[l] = in[i]; B; float v = a[(l + 1) & 7]; B; a[l] = v; B; out[i] = a[7 - l];", DATA, True, [],
    ),
    "no barrier": ("a[l] = in[i]; out[i] = a[7 - l];", DATA, False, ["data-race"]),
    "a race between groups": ("a[l] = in[i]; B; out[l] = a[7 - l];", DATA, False, ["data-race"]),
    "a store that is overwritten": (
        "a[l] = in[i]; B; for (int n = 0; n < 2; n++) out[i] = a[7 - l] + n;", DATA, False, ["store-overwritten"],
    ),
    "half of the output": ("a[l] = in[i]; B; if (l & 1) out[i] = a[7 - l];", DATA, True, []),
    "a variable without a value": (
        "float v; if (g < 39) v = in[i]; a[l] = v; B; out[i] = a[7 - l];", DATA, False, ["uninitialized-read"],
    ),
}  # fmt: skip


@pytest.mark.each_value
@pytest.mark.parametrize("memory", ["a variable", "an argument"])
@pytest.mark.parametrize("name", KERNELS)
def test_what_is_found(name, memory, wherever_allowed):
    body, data, coarse, kinds = KERNELS[name]
    variable, parameter, more = (
        ("", ", local float *a", [Local(4 * ITEMS)]) if memory == "an argument" else ("local float a[8];", "", [])
    )
    source = f"""#define B barrier(CLK_LOCAL_MEM_FENCE)
kernel void k(global const float *in, global float *out{parameter}) {{
  {variable} int i = get_global_id(0), l = get_local_id(0), g = get_group_id(0); {body} }}"""
    out = np.ma.array(np.zeros_like(DATA), mask=np.ones(DATA.size, bool))
    ran, _ = run_both(source, (GROUPS * ITEMS, 1, 1), (ITEMS, 1, 1), [data, out, *more], checks="full")
    assert [finding.kind.label for finding in ran.findings] == kinds
    assert ran.is_coarse is coarse, ran.code


@pytest.mark.parametrize("missing", [None, 300])
def test_work_items_of_a_tree_do_the_work_of_several(missing, wherever_allowed):
    data = np.ma.array(np.arange(512, dtype=np.float32), mask=np.arange(512) == missing)
    body = HEAD + FIRST + steps(64) + LAST + "}"
    out = np.ma.array(np.zeros(GROUPS, np.float32), mask=np.ones(GROUPS, bool))
    args = [data, out, np.int32(2)]
    ran, _ = run_both(body, (GROUPS * 64, 1, 1), (64, 1, 1), args, options="-cl-std=CL2.0 -DT=float -DN=64", checks="full")
    assert ran.copies(64) == (16 if missing is None else 0), ran.code
    assert [finding.kind.label for finding in ran.findings] == ([] if missing is None else ["uninitialized-read"])


def test_a_tree_of_which_a_leaf_is_not_written(wherever_allowed):
    """The tree takes it from local memory, where a work-item left it out."""
    first = "  T s = in[l]; if (l != 5) sums[l] = s; B\n"
    args = [np.ones(512, np.float32), np.zeros(GROUPS, np.float32), np.int32(2)]
    body = HEAD + first + steps(64) + LAST + "}"
    ran, _ = run_both(body, (GROUPS * 64, 1, 1), (64, 1, 1), args, options="-cl-std=CL2.0 -DT=float -DN=64", checks="full")
    assert not ran.is_coarse
    assert {finding.kind.label for finding in ran.findings} == {"uninitialized-read"}


def test_a_kernel_that_another_process_has_built(monkeypatch, tmp_path, wherever_allowed):
    """Its program is on disk, and its body is made where it is asked for; what is known of this launch is not."""
    monkeypatch.setenv("ADRENO_SIM_CACHE_DIR", str(tmp_path))
    body = HEAD + FIRST + steps(64) + LAST + "}"
    args = [np.ones(512, np.float32), np.zeros(GROUPS, np.float32), np.int32(2)]
    options = "-cl-std=CL2.0 -DT=float -DN=64"
    for checks in ("off", "bounds", "full"):
        program._cache.clear()
        ran = run(body, (GROUPS * 64, 1, 1), (64, 1, 1), args, options=options, checks=checks, cache=True)
        assert ran.copies(64) == 16, (checks, ran.code)
