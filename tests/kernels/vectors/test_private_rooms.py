"""Private variables that barriers keep in memory, one room for each tile of work-items, and what level full records of them:
copies of structs with padding among them, whose lanes take turns."""

from __future__ import annotations

import numpy as np
import pytest
from processors import SMALLER

import adreno_sim
from adreno_sim.base.specs import BufferSpec
from adreno_sim.engine.llvm import objects
from adreno_sim.engine.run import compiled_kernel

ITEMS = 128
WAIT = "barrier(CLK_GLOBAL_MEM_FENCE);"
TYPES = "typedef struct { char c; int x[4]; } S; typedef struct { short h; S s[2]; float f; } T;"
WRITE = "s.c = 3; for (int j = 0; j < 4; ++j) s.x[j] = i + j;"
BODIES = {  # with what is unwritten: "" or an element
    "copied behind a barrier": f"S s; {WRITE} {WAIT} S t = s; t.c += i & 1; out[i] = t.x[i & 3] + t.c;",
    "copied before and behind": f"S s; {WRITE} S t = s; t.x[1] += 1; {WAIT} S u = t; {WAIT} out[i] = u.x[i & 3] + u.c;",
    "copied in a branch": f"S s; {WRITE} {WAIT} S t = s; if (i & 1) {{ S u = s; u.x[2] = 7; t = u; }} out[i] = t.x[i & 3] + t.c;",
    "in a struct": f"S s; {WRITE} T t; t.s[1] = s; t.h = 1; {WAIT} T u = t; out[i] = u.s[1].x[i & 3] + u.h;",
    "not copied": f"S s; {WRITE} {WAIT} out[i] = s.x[i & 3] + s.c;",
}


@pytest.mark.each_value
@pytest.mark.parametrize("machine", [None, *SMALLER], ids=["this", *(cpu for cpu, _ in SMALLER)])
@pytest.mark.parametrize("name", BODIES)
def test_structs_with_padding_across_barriers(monkeypatch, name, machine):
    if machine is not None:
        monkeypatch.setattr(objects, "_machine", objects.Machine(*machine))
        monkeypatch.setattr(compiled_kernel, "_compiled", type(compiled_kernel._compiled)())

    def run(emitter: str, local: int, body: str) -> tuple[list[tuple[str, int]], bytes]:
        device = adreno_sim.open_device("sim:reference", checks="full", cache=False, emitter=emitter)
        view = device.view(device.allocate(4 * ITEMS), BufferSpec(4 * ITEMS, "int32"))
        device.write(view, np.zeros(ITEMS, np.int32))
        kernel = device.build(f"{TYPES} kernel void k(global int *out) {{ int i = get_global_id(0); {body} }}")["k"]
        found = device.launch(kernel, (ITEMS,), (local,), [view]).findings
        return [(finding.kind.label, finding.count) for finding in found], device.read(view).tobytes()

    for local in (16, 64):
        whole, some = BODIES[name], BODIES[name].replace("j < 4", "j < 3")  # the last element is unwritten
        wanted = run("scalar", local, whole)
        assert wanted[0] == []
        assert run("spmd", local, whole) == wanted
        assert run("spmd", local, some)[0] == [("uninitialized-read", ITEMS // 4)]
