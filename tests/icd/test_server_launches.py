"""Launches through a real server: results, findings with the host's call, errors of commands, what waits for what."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from fake_shim import RefusedError, buffer, local, null, value

from adreno_sim.icd.protocol import Command
from adreno_sim.icd.status import code_of

ADD = """\
kernel void add(global float *a, global const float *b, float c) {
  size_t i = get_global_id(0);
  a[i] = b[i] + c;
}
"""
COUNT = 256


@pytest.fixture
def shim(connect):
    made = connect(checks="full")
    made.log, made.kernels = made.build(1, ADD)
    made.places = [made.buffer(number, 4 * COUNT)[0] for number in (1, 2)]
    return made


def floats(shim, number: int) -> np.ndarray:
    place = shim.places[number - 1]
    return shim.heap[place : place + 4 * COUNT].view(np.float32)


def fill_second(shim) -> None:
    floats(shim, 2)[:] = np.arange(COUNT)
    shim.written(2, 0, 4 * COUNT)


def add(shim, size: int, c: float = 2, **more) -> int:
    return shim.launch(1, 0, (size,), (), [buffer(1), buffer(2), value(struct.pack("<f", c))], **more)


def test_a_kernel_says_what_it_takes(shim) -> None:
    (kernel,) = shim.kernels
    assert kernel["name"] == "add"
    assert kernel["multiple"] == 128
    assert kernel["sure"] == 256
    assert [(p[0], p[1], p[2], p[4], p[5], p[6]) for p in kernel["params"]] == [
        (1, 0, 0x119B, 0, "a", "float*"), (1, 0, 0x119B, 1, "b", "float*"), (0, 4, 0x119E, 0, "c", "float"),
    ]  # fmt: skip


def test_a_kernel_has_the_limit_that_the_device_string_gives(connect) -> None:
    made = connect(device="sim:adreno-740,kernel_group_limit=256")
    _, (kernel,) = made.build(1, ADD)
    assert kernel["sure"] == made.group_limit(1, 0) == 256


MANY_REGISTERS = (
    "kernel void many(global float16 *a) { local float s; float16 "
    + ", ".join(f"v{k} = a[{k}]" for k in range(16))
    + "; for (int i = 0; i < 9; i++) { "
    + " ".join(f"v{k} += v{(k + 1) % 16} * a[i];" for k in range(16))
    + " } barrier(CLK_LOCAL_MEM_FENCE); a[get_global_id(0)] = "
    + " + ".join(f"v{k}" for k in range(16))
    + "; }"
)


def test_a_kernel_has_the_limit_that_its_registers_leave_room_for(connect) -> None:
    made = connect(device="sim:adreno-650")
    made.build(1, MANY_REGISTERS + ADD)
    assert made.group_limit(1, 0) == 128
    assert made.group_limit(1, 1) == 1024


def test_a_right_launch_computes_and_finds_nothing(shim, report) -> None:
    fill_second(shim)
    add(shim, COUNT)
    assert shim.finish() == 0
    assert (floats(shim, 1) == np.arange(COUNT) + 2).all()
    started, ended, _ = shim.result(shim.number)
    assert 0 < started <= ended
    data = report(shim)
    assert data["findings"] == []
    assert data["said"] == ""
    assert data["opened"]
    assert not data["failed"]
    assert data["kernels"]["add"]["launches"] == 1


def test_a_write_out_of_bounds_is_found_with_the_hosts_call(shim, report) -> None:
    fill_second(shim)
    number = add(shim, COUNT + 1)
    call = shim.calls
    for _ in range(3):
        add(shim, COUNT + 1)
    assert shim.finish(number) == 0, "findings do not make a launch fail"
    shim.finish()
    data = report(shim)
    (found,) = [f for f in data["findings"] if f["kind"] == "out-of-bounds-write"]
    assert (found["kernel"], found["line"], found["count"]) == ("add", 3, 4)
    called = found["detail"]["host_call"]
    assert called["number"] == call
    assert called["thread"] > 0
    assert called["global_size"] == [COUNT + 1]
    assert called["arguments"] == ["a = buffer 1 of 1024 bytes", "b = buffer 2 of 1024 bytes", "c = 2"]
    assert data["said"].count("out-of-bounds-write") == 1, "each place is printed once"
    assert f"enqueued by call {call} of thread" in data["said"]
    assert "a[i] = b[i] + c;" in data["said"]


def test_bytes_that_nobody_wrote_are_found_and_those_written_are_not(shim, report) -> None:
    shim.written(2, 0, 4 * COUNT - 4)
    add(shim, COUNT - 1)
    add(shim, COUNT)
    shim.host_read(1, 0, 4 * COUNT - 4)
    shim.host_read(1, 4 * COUNT - 4, 4)
    shim.finish()
    (found,) = report(shim)["findings"]
    assert found["kind"] == "uninitialized-read"
    assert found["count"] == 1


def test_an_undefined_value_that_the_host_does_not_read_is_no_finding(shim, report) -> None:
    """Not even where a copy takes it along, and not where something defined replaces it first."""
    shim.written(2, 0, 4 * COUNT - 4)
    add(shim, COUNT)
    shim.host_read(1, 0, 4 * COUNT - 4)
    fill_second(shim)
    add(shim, COUNT)
    shim.host_read(1, 0, 4 * COUNT)
    shim.finish()
    assert report(shim)["findings"] == []


def test_a_strict_launch_with_an_error_fails_and_what_waits_for_it(connect) -> None:
    shim = connect(strict="1")
    shim.build(1, ADD)
    shim.places = [shim.buffer(number, 4 * COUNT)[0] for number in (1, 2)]
    first = add(shim, COUNT + 1)
    second = shim.put(Command.NOTHING, waits=[first])
    third = shim.put(Command.NOTHING)
    assert shim.finish(third) == 0
    assert shim.result(first)[2] == code_of("CL_OUT_OF_RESOURCES")
    assert shim.result(second)[2] == code_of("CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST")


def test_a_launch_begins_at_its_offset(shim) -> None:
    fill_second(shim)
    floats(shim, 1)[:] = 0
    shim.launch(1, 0, (16,), (4,), [buffer(1), buffer(2), value(struct.pack("<f", 1))], offset=(32,))
    assert shim.finish() == 0
    assert floats(shim, 1)[31:49].tolist() == [0, *range(33, 49), 0]


def test_a_null_buffer_is_legal_until_it_is_accessed(connect, report) -> None:
    shim = connect(checks="full")
    shim.build(1, "kernel void f(global int *a, global int *b) { a[0] = b ? 1 : 2; }\nkernel void g(global int *a) { a[1] = 1; }")
    (place, *_) = shim.buffer(1, 4)
    shim.launch(1, 0, (1,), (), [buffer(1), null()])
    assert shim.finish() == 0
    assert shim.heap[place] == 2
    shim.launch(1, 1, (1,), (), [null()])
    assert shim.finish() == 0
    (found,) = report(shim)["findings"]
    assert found["kind"] == "out-of-bounds-write"
    assert found["kernel"] == "g"


def test_a_refused_launch_is_a_finding_and_gives_its_code(shim, report) -> None:
    shim.launch(1, 0, (64,), (0,), [buffer(1), buffer(2)])
    assert shim.finish() == code_of("CL_INVALID_KERNEL_ARGS")
    shim.launch(1, 0, (2048,), (2048,), [buffer(1), buffer(2), value(bytes(4))])
    assert shim.finish() == code_of("CL_INVALID_WORK_ITEM_SIZE")
    shim.launch(1, 0, (64,), (), [buffer(1), local(16), value(bytes(4))])
    assert shim.finish() == code_of("CL_INVALID_ARG_VALUE")
    assert [found["kind"] for found in report(shim)["findings"]] == ["wrong-argument", "limit-exceeded", "wrong-argument"]


@pytest.mark.parametrize(
    ("program", "kernel", "size", "args", "code"),
    [
        (9, 0, (1,), [], "CL_INVALID_PROGRAM"),
        (1, 9, (1,), [], "CL_INVALID_KERNEL"),
        (1, 0, (1,), [buffer(1), buffer(77), value(bytes(4))], "CL_INVALID_MEM_OBJECT"),
    ],
)  # fmt: skip
def test_a_launch_of_what_is_not_there_fails(shim, program, kernel, size, args, code) -> None:
    shim.launch(program, kernel, size, (), args)
    assert shim.finish() == code_of(code)


def test_a_freed_buffer_is_gone_and_its_memory_comes_back(shim) -> None:
    fill_second(shim)
    add(shim, COUNT)
    shim.put(Command.FREE, struct.pack("<Q", 1))
    add(shim, COUNT)
    assert shim.finish() == code_of("CL_INVALID_MEM_OBJECT")
    assert shim.buffer(3, 4 * COUNT)[0] == shim.places[0], "the first free range is used again"


def test_printf_goes_to_the_clients_output(connect) -> None:
    shim = connect()
    shim.build(1, 'kernel void f(void) { printf("item %d\\n", (int)get_global_id(0)); }')
    shim.launch(1, 0, (3,), (1,), [])
    shim.finish()
    assert shim.close()[1] == "item 0\nitem 1\nitem 2\n"


def test_a_source_that_does_not_compile_gives_the_log(shim) -> None:
    with pytest.raises(RefusedError, match=r"kernel:1:\d+: error: use of undeclared identifier 'zz'") as refused:
        shim.build(2, "kernel void f(global int *a) { a[0] = zz; }")
    assert refused.value.code == code_of("CL_BUILD_PROGRAM_FAILURE")
    with pytest.raises(RefusedError, match="unknown option") as refused:
        shim.build(2, ADD, "-no-such-option")
    assert refused.value.code == code_of("CL_INVALID_BUILD_OPTIONS")


@pytest.mark.parametrize("word", ["kernel_exec", "__kernel_exec"])
def test_a_kernel_with_hints_in_one_macro(shim, word) -> None:
    kernels = shim.build(2, f"{word}(64, float4) void f(global float4 *a) {{ a[get_global_id(0)] *= 2; }}")[1]
    assert [kernel["name"] for kernel in kernels] == ["f"]


def test_programs_are_compiled_with_headers_and_linked(shim, report) -> None:
    fill_second(shim)
    first = '#include "inc/twice.h"\nkernel void f(global float *a, global const float *b) { a[0] = twice(b[3]) + OFFSET; }'
    shim.compile(2, first, "", {"inc/twice.h": "#define OFFSET 100\nfloat twice(float);"})
    shim.compile(3, "static float two(void) { return 2; }\nfloat twice(float x) { return two() * x; }")
    with pytest.raises(RefusedError, match="undefined function twice") as refused:
        shim.link_programs(4, [2])
    assert refused.value.code == code_of("CL_LINK_PROGRAM_FAILURE")
    for act, step in (
        (lambda: shim.compile(4, first, "-no-such-option"), "COMPILER"),
        (lambda: shim.link_programs(4, [2, 3], "-no-such-option"), "LINKER"),
        (lambda: shim.link_programs(4, [2, 3], "-create-library -no-such-option"), "LINKER"),
    ):
        with pytest.raises(RefusedError, match="unknown option '-no-such-option'") as refused:
            act()
        assert refused.value.code == code_of(f"CL_INVALID_{step}_OPTIONS")
    assert shim.link_programs(5, [3], "-create-library") == []
    assert [kernel["name"] for kernel in shim.link_programs(6, [2, 5])] == ["f"]
    shim.launch(6, 0, (1,), (), [buffer(1), buffer(2)])
    assert shim.finish() == 0
    assert floats(shim, 1)[0] == 106
    assert report(shim)["findings"] == []
