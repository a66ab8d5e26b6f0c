"""The text of printf is the C library's, for all that C defines."""

from __future__ import annotations

import ctypes
import locale
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adreno_sim.engine.abi.print_format import (
    FLOATS,
    INTEGERS,
    LONGEST_FIELD,
    Conversion,
    PrintCall,
    describe_defects,
    describe_misfit,
    fits_size,
    parse_format,
)
from adreno_sim.engine.run import printed_text
from adreno_sim.engine.run.printed_text import print_records
from adreno_sim.ir.ir import Float, Int, Pointer, Type, Vector

C = ctypes.CDLL(None)
PASSED = {"hh": ctypes.c_int, "h": ctypes.c_int, "": ctypes.c_int, "l": ctypes.c_long}
ELEMENTS = {"hh": 8, "h": 16, "hl": 32, "l": 64}
EDGES = (0, 1, -1, 7, 127, 128, 255, 256, 32767, 32768, 65535, 2**31 - 1, -(2**31), 2**32 - 1, 2**63 - 1, -(2**63))

flags = st.text("-+ #0", max_size=5)
widths = st.one_of(st.just(""), st.integers(1, 40).map(str))
precisions = st.one_of(st.just(""), st.just("."), st.integers(0, 40).map(lambda n: f".{n}"))
integers = st.one_of(st.sampled_from(EDGES), st.integers(-(2**63), 2**63 - 1))
floats = st.one_of(
    st.sampled_from(
        (0.0, -0.0, 0.5, 1.5, 2.5, 9.5, 0.05, 1e-5, 99999.5, 1e300, 5e-324, float("inf"), -float("inf"), float("nan"))
    ),
    st.floats(width=64),
    st.floats(width=32),
)


def in_c(format: str, argument: object) -> bytes:
    room = ctypes.create_string_buffer(4 * LONGEST_FIELD)
    length = C.snprintf(room, ctypes.c_size_t(len(room)), format.encode(), argument)
    return room.raw[:length]


def signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def word(value: int | float) -> int:
    return struct.unpack("<Q", struct.pack("<d", value))[0] if isinstance(value, float) else value & (1 << 64) - 1


def ours(format: str, type: Type, *values: int | float, string: str | None = None) -> str:
    """The text of one printf with one argument, and that nothing is wrong with it."""
    (conversion,) = (part for part in parse_format(format) if isinstance(part, Conversion))
    assert list(describe_defects(conversion)) == []
    assert fits_size(conversion, type, string)
    return printed(PrintCall(format, (type,), (string,)), *values)


def printed(call: PrintCall, *values: int | float) -> str:
    buffer = np.array([1, 0, 0, *map(word, values)], np.uint64)
    text, cut = print_records([call], buffer, buffer.nbytes)
    assert cut == ""
    return text


def is_defined(format: str) -> bool:
    (conversion,) = parse_format(format)
    return isinstance(conversion, Conversion) and not list(describe_defects(conversion))


@settings(max_examples=250, deadline=None)
@given(flags, widths, precisions, st.sampled_from(sorted(PASSED)), st.sampled_from(INTEGERS), integers)
def test_integers(flag: str, width: str, precision: str, length: str, kind: str, value: int) -> None:
    head = f"%{flag}{width}{precision}"
    if "#" in flag and kind in "diu":
        assert not is_defined(f"{head}{length}{kind}")
        return
    value = value if length == "l" else signed(value, 32)
    expected = in_c(f"{head}{length}{kind}", PASSED[length](value)).decode()
    assert ours(f"{head}{length}{kind}", Int(64 if length == "l" else 32), value) == expected


@settings(max_examples=250, deadline=None)
@given(flags, widths, precisions, st.sampled_from(("", "l")), st.sampled_from(FLOATS), floats)
def test_floats(flag: str, width: str, precision: str, length: str, kind: str, value: float) -> None:
    format = f"%{flag}{width}{precision}{length}{kind}"
    assert ours(format, Float(64), value) == in_c(format, ctypes.c_double(value)).decode()


@settings(max_examples=150, deadline=None)
@given(flags, widths, precisions, st.sampled_from(sorted(ELEMENTS)), st.sampled_from((2, 3, 4, 8, 16)), st.data())
def test_vectors(flag: str, width: str, precision: str, length: str, lanes: int, data: st.DataObject) -> None:
    """Each element as C writes it, a comma between them."""
    head, bits = f"%{flag}{width}{precision}", ELEMENTS[length]
    kind = data.draw(st.sampled_from(INTEGERS if bits == 8 else INTEGERS + FLOATS))
    format = f"{head}v{lanes}{length}{kind}"
    if "#" in flag and kind in "diu":
        assert not is_defined(format)
    elif kind in FLOATS:
        values = data.draw(st.lists(floats, min_size=lanes, max_size=lanes))
        expected = b",".join(in_c(head + kind, ctypes.c_double(value)) for value in values)
        assert ours(format, Vector(Float(bits), lanes), *values) == expected.decode()
    else:
        whole = [signed(value, bits) for value in data.draw(st.lists(integers, min_size=lanes, max_size=lanes))]
        c_length = {"hl": ""}.get(length, length)
        expected = b",".join(in_c(f"{head}{c_length}{kind}", PASSED[c_length](value)) for value in whole)
        assert ours(format, Vector(Int(bits), lanes), *whole) == expected.decode()


@settings(max_examples=200, deadline=None)
@given(flags.filter(lambda text: not set(text) & set("#0")), widths, precisions, st.text(max_size=9), integers)
def test_strings_and_characters(flag: str, width: str, precision: str, string: str, value: int) -> None:
    string = string.replace("\0", "").encode("utf-8", "replace").decode()
    expected = in_c(f"%{flag}{width}{precision}s", ctypes.c_char_p(string.encode()))
    assert ours(f"%{flag}{width}{precision}s", Pointer(2), 0, string=string) == expected.decode("utf-8", "surrogateescape")
    expected = in_c(f"%{flag}{width}c", ctypes.c_int(signed(value, 32)))
    assert ours(f"%{flag}{width}c", Int(32), signed(value, 32)) == expected.decode("utf-8", "surrogateescape")


def test_pointers() -> None:
    """How they look is the implementation's choice (OpenCL C 6.15.14.2)."""
    assert [ours(format, Pointer(1), 0xABC) for format in ("%p", "%8p", "%-8p|")] == ["0xabc", "   0xabc", "0xabc   |"]
    assert ours("%p", Pointer(1), 0) == "0x0"


def test_text_without_conversions_and_surplus_arguments() -> None:
    assert printed(PrintCall("100%% of \udcffä\n", (), ())) == "100% of \udcffä\n"
    assert printed(PrintCall("%d", (Int(32), Float(64)), (None, None)), 1, 2.5) == "1"


def test_a_literal_longer_than_any_field() -> None:
    string = "x" * 3 * LONGEST_FIELD
    assert ours("%s", Pointer(2), 0, string=string) == string


WRONG = {
    "%y": "%y is not a conversion of OpenCL C", "%n": "%n is not a conversion", "%*": "%* is not a conversion",
    "%": "% is not a conversion", "%5%": "%5% is not a conversion", "%v5d": "%v5d is not a conversion",
    "%v2lln": "is not a conversion", "%5": "%5 is not a conversion",
    "%#d": "flag # has no meaning for d", "%0s": "flag 0 has no meaning for s", "%.2c": "c has no precision",
    "%.2p": "p has no precision", "%v2s": "s takes no vector", "%v4f": "expected hh, h, hl or l",
    "%hld": "hl is not a length of d", "%lld": "ll is not a length of d", "%hf": "h is not a length of f",
    "%Lf": "L is not a length of f", "%lc": "l is not a length of c",
    "%4096d": "expected a width of at most 4095", "%.4096f": "expected a precision of at most 4095",
    "%500000000d": "expected a width of at most 4095", f"%.{'9' * 9000}f": "expected a precision of at most 4095",
}  # fmt: skip


@pytest.mark.parametrize("format", WRONG, ids=lambda format: format[:20])
def test_what_is_undefined_is_told(format: str) -> None:
    (conversion,) = parse_format(format)
    assert isinstance(conversion, Conversion)
    (told,) = describe_defects(conversion)
    assert WRONG[format] in told
    assert len(told) < 120


@pytest.mark.parametrize(
    "format", ["%-+ 05d", "%#o", "%+u", "%hhx", "%lf", "%2.2v4hlf", "%#v16hhx", "%-5c", "%.3s", "%4095d", "%.4095f"]
)
def test_what_is_defined_is_not(format: str) -> None:
    assert is_defined(format)


MISFITS: dict[tuple[str, Type], str] = {
    ("%d", Float(32)): "%d takes an int, got a float", ("%f", Int(32)): "%f takes a float or double, got an int",
    ("%d", Int(64)): "%d takes an int, got a long", ("%ld", Int(32)): "%ld takes a long, got an int",
    ("%s", Int(32)): "%s takes a string literal, got an int", ("%s", Pointer(1)): "%s takes a string literal, got a pointer",
    ("%p", Int(64)): "%p takes a pointer, got a long", ("%d", Pointer(1)): "%d takes an int, got a pointer",
    ("%f", Vector(Float(32), 4)): "%f takes a float or double, got float4", ("%v4hlf", Float(32)): "takes float4, got a float",
    ("%v4hlf", Vector(Float(32), 2)): "takes float4, got float2", ("%v4hf", Vector(Float(32), 4)): "takes half4, got float4",
    ("%v4hld", Vector(Float(32), 4)): "takes int4, got float4", ("%v2hhd", Vector(Int(32), 2)): "takes char2, got int2",
    ("%c", Float(64)): "%c takes an int, got a double",
}  # fmt: skip


@pytest.mark.parametrize(("format", "type"), MISFITS)
def test_an_argument_of_another_type_is_told(format: str, type: Type) -> None:
    (conversion,) = parse_format(format)
    assert isinstance(conversion, Conversion)
    assert not fits_size(conversion, type, None)
    assert MISFITS[format, type] in describe_misfit(conversion, type)


def test_an_argument_of_another_kind_is_no_guess() -> None:
    """Integers of another size are cut or widened as where words are passed; all else is printed as the format has it."""
    assert printed(PrintCall("%d", (Int(64),), (None,)), 2**32 + 5) == "5"
    assert printed(PrintCall("%ld", (Int(32),), (None,)), -5) == "-5"
    for format, type, value in (("%d", Float(64), 1.5), ("%f", Int(32), 1), ("%d", Pointer(1), 16), ("%p", Int(64), 16)):
        assert printed(PrintCall(f"{format}|%d", (type, Int(32)), (None, None)), value, 7) == f"{format}|7"
    assert printed(PrintCall("%d%d %*d", (Int(32),), (None,)), 1) == "1%d %*d"


def test_wide_fields_are_cut() -> None:
    assert len(printed(PrintCall("%500000000d", (Int(32),), (None,)), 1)) == LONGEST_FIELD
    assert len(printed(PrintCall("%.2000000000f", (Float(64),), (None,)), 1.0)) == LONGEST_FIELD + 2
    assert len(printed(PrintCall("%.2000000000f", (Float(64),), (None,)), -1e308)) == LONGEST_FIELD + 311


def test_the_text_of_a_launch_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    buffer = np.array([1, 0, 0, 7] * 100, np.uint64)
    call = PrintCall("%10d", (Int(32),), (None,))
    assert print_records([call], buffer, buffer.nbytes) == ("         7" * 100, "")
    monkeypatch.setattr(printed_text, "TEXT_LIMIT", 500)
    text, cut = print_records([call], buffer, buffer.nbytes)
    assert len(text) == 500
    assert cut == "the text of printf ends after 500 bytes, the most that is kept"


def test_records_that_found_no_room() -> None:
    """The buffer ends in zeros, which are no record of the first printf."""
    buffer = np.array([2, 0, 0, 7, 8, 0, 0, 0], np.uint64)
    calls = [PrintCall("first\n", (), ()), PrintCall("%d %d\n", (Int(32), Int(32)), (None, None))]
    text, cut = print_records(calls, buffer, 80)
    assert text == "7 8\n"
    assert cut == "printf: 80 bytes of arguments; the first 64 are kept, as on a device"


def test_groups_come_in_order() -> None:
    buffer = np.array([1, 1, 0, 5, 1, 0, 0, 6, 1, 1, 1, 7], np.uint64)
    assert print_records([PrintCall("%d ", (Int(32),), (None,))], buffer, buffer.nbytes)[0] == "6 5 7 "


def test_a_locale_changes_nothing() -> None:
    before = locale.setlocale(locale.LC_ALL)
    for name in ("de_DE.UTF-8", "fr_FR.UTF-8", ""):
        try:
            locale.setlocale(locale.LC_ALL, name)
        except locale.Error:
            continue
        try:
            assert ours("%.1f", Float(64), 1.5) == "1.5"
        finally:
            locale.setlocale(locale.LC_ALL, before)
