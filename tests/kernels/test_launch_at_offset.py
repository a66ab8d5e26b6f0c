"""A global offset, NULL in place of a buffer, launches that are prepared once, and programs of several sources."""

import numpy as np
import pytest

from adreno_sim.backends.sim.open import open_sim
from adreno_sim.base.errors import BuildError, DeviceError
from adreno_sim.base.specs import BufferSpec, Null
from adreno_sim.findings import Kind

COUNT = 64
IDS = "kernel void ids(global int *a) { int i = get_global_id(0); a[i] = i * 1000 + get_global_offset(0); }"


@pytest.fixture(params=["bounds", "full"])
def device(request):
    return open_sim("adreno-740", checks=request.param)


def make(device, count=COUNT):
    view = device.view(device.allocate(4 * count), BufferSpec(4 * count, "int32"))
    device.write(view, np.zeros(count, np.int32))
    return view


def test_ids_begin_at_the_offset(device):
    view = make(device)
    result = device.launch(device.build(IDS)["ids"], (16,), (8,), [view], offset=(20,))
    expected = np.zeros(COUNT, np.int32)
    expected[20:36] = np.arange(20, 36) * 1000 + 20
    assert (device.read(view) == expected).all()
    assert not result.findings


def test_an_offset_that_leads_out_of_bounds_is_found(device):
    kernel, view = device.build(IDS)["ids"], make(device)
    assert not device.launch(kernel, (16,), (8,), [view], offset=(COUNT - 16,)).findings
    (found,) = device.launch(kernel, (16,), (8,), [view], offset=(COUNT - 15,)).findings
    assert found.kind is Kind.OUT_OF_BOUNDS_WRITE
    assert found.work_item.global_id == (COUNT, 0, 0)
    assert found.count == 1


def test_two_dimensions_and_uneven_groups(device):
    source = "kernel void f(global int *a) { a[get_global_id(1) * 8 + get_global_id(0)] = 1 + get_group_id(0); }"
    kernel, view = device.build(source, "-cl-std=CL3.0")["f"], make(device)
    assert not device.launch(kernel, (3, 2), (2, 2), [view], offset=(4, 1)).findings
    assert device.read(view).reshape(8, 8)[:4, 3:].tolist() == [[0] * 5, [0, 1, 1, 2, 0], [0, 1, 1, 2, 0], [0] * 5]


@pytest.mark.parametrize("offset", [(1, 2), (-1,), (2**60,), ()])
def test_offsets_that_cannot_be_are_refused(device, offset):
    with pytest.raises(DeviceError, match="CL_INVALID_GLOBAL_OFFSET"):
        device.launch(device.build(IDS)["ids"], (16,), (8,), [make(device)], offset=offset)


def test_null_is_a_buffer_without_bytes(device):
    program = device.build(
        "kernel void ask(global int *a, global const int *b) { a[0] = b ? b[0] : -1; }"
        "kernel void use(global int *a, global int *b) { b[1] = a[0]; }"
    )
    view = make(device)
    assert not device.launch(program["ask"], (1,), (1,), [view, Null()]).findings
    assert device.read(view)[0] == -1
    (found,) = device.launch(program["use"], (1,), (1,), [view, Null()]).findings
    assert found.kind is Kind.OUT_OF_BOUNDS_WRITE
    assert found.access.view == "b"
    assert found.access.extent == (0,)


def test_null_is_for_buffers_alone(device):
    kernel = device.build("kernel void f(global int *a, int n, local int *l) {}")["f"]
    with pytest.raises(DeviceError, match=r"argument 1 .*expected a scalar, got a NULL pointer"):
        device.launch(kernel, (1,), (1,), [make(device), Null(), Null()])


def test_a_prepared_launch_runs_often_until_a_view_is_freed(device):
    kernel, view = device.build("kernel void f(global int *a) { a[get_global_id(0)] += 1; }")["f"], make(device)
    prepared = device.prepare(kernel, (COUNT,), (16,), [view])
    for _ in range(3):
        assert not device.run_prepared(prepared).findings
    assert (device.read(view) == 3).all()
    device.free(view.storage)
    with pytest.raises(DeviceError, match="CL_INVALID_MEM_OBJECT"):
        device.run_prepared(prepared)


def test_units_share_what_is_external_and_nothing_else(device):
    first = device.compile(
        '#include "part.h"\nextern constant int table[2];\nstatic int own(int x) { return x + 1; }\n'
        "static constant int mine[2] = {5, 6};\n"
        "kernel void f(global int *a) { local int l[2]; l[0] = mine[1]; a[0] = part(own(a[0])) + table[1] + l[0]; }",
        "",
        {"part.h": "int part(int);"},
    )
    second = device.compile(
        "constant int table[2] = {1000, 2000};\nstatic constant int mine[2] = {50000, 60000};\n"
        "static int own(int x) { return x * 10; }\nint part(int x) { return own(x) + mine[1]; }"
    )
    view = make(device)
    assert not device.launch(device.link([first, second])["f"], (1,), (1,), [view]).findings
    assert device.read(view)[0] == 10 + 60000 + 2000 + 6


def test_a_kernel_of_another_program_is_called(device):
    first = device.compile("kernel void g(global int *a);\nkernel void f(global int *a) { g(a); }")
    second = device.compile("kernel void g(global int *a) { a[0] = 7; }")
    view = make(device)
    assert not device.launch(device.link([first, second])["f"], (1,), (1,), [view]).findings
    assert device.read(view)[0] == 7


@pytest.mark.parametrize(
    ("sources", "said"),
    [
        (["int g(int);\nkernel void f(global int *a) { a[0] = g(1); }"], "undefined function g"),
        (["kernel void g(global int *a);\nkernel void f(global int *a) { g(a); }"], "undefined function g"),
        (["int g(int x) { return x; }", "int g(int x) { return 2 * x; }"], "g is defined twice: in linked programs 1 and 2"),
    ],
)
def test_what_does_not_link_is_said(device, sources, said):
    with pytest.raises(BuildError, match=said):
        device.link([device.compile(source) for source in sources])


def test_a_finding_in_a_header_names_it(device):
    header = "void put(global int *a, int i) {\n  a[i] = 1;\n}"
    unit = device.compile('#include "inc/put.h"\nkernel void f(global int *a) { put(a, 64); }', "", {"inc/put.h": header})
    (found,) = device.launch(device.link([unit])["f"], (1,), (1,), [make(device)]).findings
    assert (found.file, found.line) == ("inc/put.h", 2)


@pytest.mark.parametrize("name", ["/etc/x.h", "../x.h", ""])
def test_names_of_headers_stay_in_their_folder(device, name):
    with pytest.raises(DeviceError, match="expected a relative path"):
        device.compile("", "", {name: ""})


def test_an_error_in_a_header_names_it(device):
    with pytest.raises(BuildError, match=r"(?m)^a\.h:1:9: error"):
        device.compile('#include "a.h"\nint b;', "", {"a.h": "int a = zz;"})
