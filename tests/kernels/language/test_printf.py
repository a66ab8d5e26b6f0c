"""printf in kernels: the types that reach it, what is told of those that do not fit, and output without end."""

from __future__ import annotations

import numpy as np
import pytest

from adreno_sim import open_device
from adreno_sim.base.specs import BufferSpec
from adreno_sim.device.protocol import LaunchResult
from adreno_sim.findings import Kind

HEAD = "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n"
DECLARED = """char c = a[0]; uchar uc = -a[0]; short s = a[0]; int i = a[0]; long l = a[0]; ulong ul = -a[0];
float f = a[0]; half h = a[0];
char4 c4 = (char4)(a[0]); short2 s2 = (short2)(a[0]); int3 i3 = (int3)(a[0], 8, 9); long2 l2 = (long2)(a[0]);
float3 f3 = (float3)(a[0], 2, 3); half4 h4 = (half4)(a[0]); float16 f16 = (float16)(a[0]); bool b = a[0];
__local int t[4]; __private int p; __constant char *word = literal; const size_t g = get_global_id(0);
event_t e = 0; const sampler_t w = CLK_FILTER_NEAREST;\n"""


def launch(printing: str, items: int = 1) -> LaunchResult:
    device = open_device("sim:adreno-740,timeout=20")
    source = f'{HEAD}__constant char literal[] = "word";\n__kernel void k(__global int *a) {{ {DECLARED}{printing} }}'
    view = device.view(device.allocate(4), BufferSpec(4, "int32"))
    device.write(view, np.full(1, -7, np.int32))
    return device.launch(device.build(source, "-cl-std=CL2.0")["k"], (items,), (1,), [view])


FITTING = {
    '"%d %i %hhd %hhu|%hd %x", c, b, c, uc, s, i': "-7 1 -7 7|-7 fffffff9",
    '"%ld %lu %lx", l, ul, g': "-7 7 0",
    '"%f %e %a %lf %.1f", f, f, f, f, h': "-7.000000 -7.000000e+00 -0x1.cp+2 -7.000000 -7.0",
    '"%c%5c%-3c|", \'x\', c + 72, \'y\'': "x    Ay  |",
    '"%s %5.2s %s", "text", "text", literal': "text    te word",
    '"%v4hhd %v2hd %v3hld %v2ld", c4, s2, i3, l2': "-7,-7,-7,-7 -7,-7 -7,8,9 -7,-7",
    '"%.1v3hlf %.1v4hf %v16hld", f3, h4, convert_int16(f16)': "-7.0,2.0,3.0 -7.0,-7.0,-7.0,-7.0" + " -7" + ",-7" * 15,
    '"100%% %d", i, 1, 2': "100% -7",
}  # fmt: skip


@pytest.mark.parametrize("arguments", FITTING)
def test_what_fits_is_printed_without_a_finding(arguments: str) -> None:
    result = launch(f"printf({arguments});")
    assert (result.printed, result.findings) == (FITTING[arguments], [])


def test_pointers_of_every_address_space() -> None:
    result = launch('printf("%p %p %p %p %p", a, t, &p, literal, (void *)0);')
    assert result.findings == []
    assert len(result.printed.split()) == 5
    assert result.printed.endswith(" 0x0")


MISFITTING = {
    '"%d", f': "%d takes an int, got a float",
    '"%f", i': "%f takes a float or double, got an int",
    '"%s", a': "%s takes a string literal, got a pointer",
    '"%s", i': "%s takes a string literal, got an int",
    '"%d", i3': "%d takes an int, got int3",
    '"%v4hlf", f3': "%v4hlf takes float4, got float3",
    '"%v3f", f3': "%v3f: expected hh, h, hl or l for the size of the vector's elements",
    '"%d %d", i': "the format has 2 conversions, but 1 argument follows",
    '"%.2000000000f", f': "%.2000000000f: expected a precision of at most 4095",
    '"%d", e': "%d takes an int, got an event",
    '"%p", w': "%p takes a pointer, got a sampler",
    '"%d %y", f': "%y is not a conversion of OpenCL C; %d takes an int, got a float",
}


@pytest.mark.parametrize("arguments", MISFITTING)
def test_what_does_not_fit_is_a_finding(arguments: str) -> None:
    result = launch(f"if (a[0] < 0)\nprintf({arguments});")
    (finding,) = result.findings
    assert finding.kind is Kind.WRONG_ARGUMENT
    assert f"printf: {MISFITTING[arguments]}" in finding.message
    assert finding.line
    assert launch(f"if (a[0] > 0)\nprintf({arguments});").findings == []


@pytest.mark.parametrize(("arguments", "told"), [('"%d", g', "%d takes an int, got a long"), ('"%lx", i', "%lx takes a long")])
def test_an_integer_of_another_size_is_a_warning(arguments: str, told: str) -> None:
    (finding,) = launch(f"printf({arguments});").findings
    assert finding.kind is Kind.PRINTED_SIZE
    assert f"printf: {told}" in finding.message
    assert finding.line


def test_printing_without_end_is_cut() -> None:
    result = launch('for (int n = 0; n < 1000000; n++) printf("%4095d\\n", n);')
    assert len(result.printed) == 4 << 20
    assert result.findings == []
    assert result.failures == ("the text of printf ends after 4194304 bytes, the most that is kept",)
    result = launch('for (int n = 0; n < 1000000; n++) printf("%d\\n", n);')
    assert result.printed.splitlines() == [str(n) for n in range((1 << 20) // 32)]
    assert result.failures == ("printf: 32000000 bytes of arguments; the first 1048576 are kept, as on a device",)
