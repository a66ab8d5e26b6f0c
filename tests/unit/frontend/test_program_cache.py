"""Programs and compiled kernels on disk: a second process needs neither clang nor the code generator."""

from __future__ import annotations

import numpy as np
import pytest

from adreno_sim import open_device
from adreno_sim.base import disk_cache
from adreno_sim.base.errors import BuildError
from adreno_sim.base.specs import BufferSpec
from adreno_sim.engine import codegen
from adreno_sim.engine.abi.specialization import BufferArg, Specialization
from adreno_sim.engine.caching import compiled_cache
from adreno_sim.engine.run import compiled_kernel, launch_analysis
from adreno_sim.frontend import driver, program

SOURCE = """
__constant float table[4] = {1, 2, 3, 4};
__attribute__((reqd_work_group_size(4, 1, 1)))
__kernel void scale(__global float* y, __global const float* x, float a, __local float* t) {
  int i = get_global_id(0);
  t[get_local_id(0)] = a * x[i] + table[i & 3];
  barrier(CLK_LOCAL_MEM_FENCE);
  y[i] = t[3 - get_local_id(0)];
}
__kernel void fill(write_only image2d_t y) { write_imagef(y, (int2)(get_global_id(0), 0), (float4)(1)); }
"""


@pytest.fixture
def steps(tmp_path, monkeypatch):
    """Runs of clang and of the code generator, by name, on an empty cache."""
    monkeypatch.setenv("ADRENO_SIM_CACHE_DIR", str(tmp_path))
    done: list[str] = []
    for module, name in ((program, "run_clang"), (codegen, "emit_module")):
        whole = getattr(module, name)

        def counted(*args, whole=whole, name=name, **keywords):
            done.append(name)
            return whole(*args, **keywords)

        monkeypatch.setattr(module, name, counted)
    return done


def forget() -> None:
    """As in a new process."""
    program._cache.clear()
    compiled_kernel._compiled.clear()
    launch_analysis._analyses.clear()


def run(device_text: str = "sim:adreno-740") -> tuple[np.ndarray, list[tuple[str, str, str]], list[bool]]:
    """y of `scale`, its parameters, and which of them it writes."""
    from adreno_sim.base.specs import Local

    device = open_device(device_text)
    views = []
    for data in (np.zeros(8, np.float32), np.arange(8, dtype=np.float32)):
        views.append(device.view(device.allocate(32), BufferSpec(32, "float32")))
        device.write(views[-1], data)
    kernel = device.build(SOURCE)["scale"]
    result = device.launch(kernel, (8, 1, 1), (4, 1, 1), (*views, np.float32(2), Local(16)))
    assert not result.findings
    return device.read(views[0]), [(p.name, p.kind, p.spelled) for p in kernel.params], [kernel.writes(i) for i in range(2)]


@pytest.mark.parametrize("checks", ["off", "bounds", "full"])
def test_a_second_process_compiles_nothing(steps, checks):
    forget()
    first = run(f"sim:adreno-740,checks={checks}")
    assert sorted(set(steps)) == ["emit_module", "run_clang"]
    steps.clear()
    forget()
    second = run(f"sim:adreno-740,checks={checks}")
    assert not steps
    np.testing.assert_array_equal(first[0], second[0])
    assert first[1:] == second[1:]
    assert second[2] == [True, False]


def test_the_body_of_a_stored_kernel_is_compiled_when_asked_for(steps):
    forget()
    run()
    steps.clear()
    forget()
    kernel = open_device("sim:adreno-740").build(SOURCE)["scale"]
    assert kernel.function.required_work_group_size == (4, 1, 1)
    assert not steps
    uses = {id(v) for block in kernel.function.blocks for instr in block.instrs for v in instr.operands}
    assert steps == ["run_clang"]
    assert all(id(param) in uses for param in kernel.function.params)


def test_whether_a_launch_depends_on_sub_groups_is_known_without_a_body(steps):
    """The driver asks it of every launch at level full."""
    from adreno_sim.readings.subject import make_subject
    from adreno_sim.readings.table import CHEAP

    said = []
    for _ in range(2):
        forget()
        steps.clear()
        device = open_device("sim:adreno-740,checks=full")
        subject = make_subject(device, device.build(SOURCE)["scale"], ((8, 1, 1), (4, 1, 1)), (), list)
        said.append([reading.why_not(subject) for reading in CHEAP])
    assert not steps
    assert said == [["it asks for no sub-group"]] * 2


def test_without_the_cache_everything_is_compiled_and_nothing_stored(steps, tmp_path):
    forget()
    run("sim:adreno-740,cache=false")
    forget()
    steps.clear()
    run("sim:adreno-740,cache=false")
    assert set(steps) == {"run_clang", "emit_module"}
    assert not {"programs", "proofs", "modules", "objects"} & set(disk_cache.usage())


@pytest.mark.parametrize("kind", ["programs", "proofs", "modules"])
@pytest.mark.parametrize("damage", [b"", b"no entry", None])
def test_damaged_entries_count_as_absent(steps, kind, damage):
    forget()
    first = run()
    for place in disk_cache.folder(kind).iterdir():
        if damage is None:
            disk_cache.store(place, b"whole, but not what it should be")
        else:
            place.write_bytes(damage)
    steps.clear()
    forget()
    np.testing.assert_array_equal(run()[0], first[0])
    assert steps


def test_a_program_that_does_not_compile_is_not_kept(steps):
    forget()
    for _ in range(2):
        with pytest.raises(BuildError, match="nonsense"):
            open_device("sim:adreno-740").build("__kernel void k(__global int* a) { a[0] = nonsense; }")
    assert steps == ["run_clang"] * 2


def test_other_options_and_other_targets_are_other_programs():
    from adreno_sim.frontend.program_cache import entry_name

    target = driver.FrontEndTarget()
    made = [entry_name(SOURCE, "", target), entry_name(SOURCE, "-DA=1", target), entry_name(SOURCE + " ", "", target)]
    made += [
        entry_name(SOURCE, "", driver.FrontEndTarget(300)),
        entry_name(SOURCE, "", driver.FrontEndTarget(extensions=frozenset())),
    ]
    assert len(set(made)) == len(made)
    assert all(made)
    assert entry_name('#include "x.h"\n' + SOURCE, "", target) == "" == entry_name(SOURCE, "-I /tmp", target)


def test_a_specialization_is_spelled_alike_whatever_the_order_of_its_sets():
    one, two = (Specialization(local_size=(1, 1, 1), args=(BufferArg(),)) for _ in range(2))
    assert (
        compiled_cache.canonical_text(one)
        == compiled_cache.canonical_text(two)
        != compiled_cache.canonical_text(Specialization(local_size=(2, 1, 1), args=(BufferArg(),)))
    )
    many = [8 * n for n in range(50)]
    assert compiled_cache.canonical_text(frozenset(many)) == compiled_cache.canonical_text(frozenset(reversed(many)))
