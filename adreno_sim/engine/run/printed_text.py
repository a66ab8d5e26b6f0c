"""The text of printf, from what machine code recorded. Each conversion is written by the C library, in the C locale."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterator, Sequence

import numpy as np

from ...ir import ir, llvm_types
from ..abi.print_format import FLOATS, HEADER, LONGEST_FIELD, Conversion, PrintCall, fits, parse_format

TEXT_LIMIT = 4 << 20
"""Bytes of the text of one launch."""

_BITS = {"hh": 8, "h": 16, "hl": 32, "l": 64, "ll": 64, "j": 64, "z": 64, "t": 64}
_ALL_CATEGORIES = 0x1FBF  # LC_ALL_MASK of glibc
_ROOM = 3 * LONGEST_FIELD
"""Bytes of one conversion: a precision, or a width, and the longest double."""


def print_records(calls: Sequence[PrintCall], buffer: np.ndarray, used: int) -> tuple[str, str]:
    """Returns printf's output, groups in order, within a group as printed; and what was cut of it, "" if nothing was.

    `buffer` holds the records as 64-bit words, `used` are the bytes that were asked for.
    """
    text = bytearray()
    with _CLibrary() as c:
        for call, values in _in_order(calls, buffer[: used // 8].tolist()):
            text += _print(c, call, values)
            if len(text) > TEXT_LIMIT:
                return _decode(text[:TEXT_LIMIT]), f"the text of printf ends after {TEXT_LIMIT} bytes, the most that is kept"
    cut = f"printf: {used} bytes of arguments; the first {buffer.nbytes} are kept, as on a device"
    return _decode(text), cut if used > buffer.nbytes else ""


def _decode(text: bytes | bytearray) -> str:
    return text.decode("utf-8", "surrogateescape")


def _in_order(calls: Sequence[PrintCall], words: Sequence[int]) -> Iterator[tuple[PrintCall, Sequence[int]]]:
    """Yields the calls and their values. A record that found no room has no number."""
    records = []
    at = 0
    while at < len(words) and words[at]:
        call = calls[words[at] - 1]
        records.append((words[at + 1], call, words[at + HEADER : at + call.words]))
        at += call.words
    for _, call, values in sorted(records, key=lambda record: record[0]):
        yield call, values


def _print(c: _CLibrary, call: PrintCall, values: Sequence[int]) -> bytes:
    """Returns the text of one printf. What does not fit its conversion is a finding, and printed as the format has it."""
    arguments = iter(_arguments(call, values))
    text = b""
    for part in parse_format(call.format):
        if isinstance(part, str):
            text += _encode(part)
            continue
        argument = next(arguments, None) if part.kind else None
        if part.kind == "s" and argument is not None and argument[1] is None:
            text += b"(not a string literal)"
        elif argument is None or not fits(part, argument[0], argument[1]):
            text += _encode(part.text)
        else:
            text += b",".join(_print_lane(c, part, argument[0], argument[1], value) for value in argument[2])
    return text


def _arguments(call: PrintCall, values: Sequence[int]) -> Iterator[tuple[ir.Type, str | None, Sequence[int]]]:
    """Yields type, literal and lanes of each argument."""
    at = 0
    for type, string in zip(call.arguments, call.strings, strict=True):
        lanes = llvm_types.lanes_of(type)
        yield type, string, values[at : at + lanes]
        at += lanes


def _print_lane(c: _CLibrary, conversion: Conversion, type: ir.Type, string: str | None, word: int) -> bytes:
    kind, flags = conversion.kind, conversion.flags
    precision = None if conversion.precision is None else min(conversion.precision, LONGEST_FIELD)
    width = min(conversion.width, LONGEST_FIELD)
    spec = f"%{flags}{width or ''}{'' if precision is None else f'.{precision}'}"
    if kind in "sp":
        said = _encode(string or "")[:precision] if kind == "s" else f"0x{word:x}".encode()
        return said.ljust(width) if "-" in flags else said.rjust(width)
    if kind in FLOATS:
        return c.format(spec + kind, ctypes.c_double(struct.unpack("<d", struct.pack("<Q", word))[0]))
    if kind == "c":
        return c.format(spec + "c", ctypes.c_int(word & 0xFF))
    elem = llvm_types.elem_of(type)
    assert isinstance(elem, ir.Int)
    bits = _BITS.get(conversion.length, elem.bits if conversion.lanes > 1 else 32)
    value = word & ((1 << bits) - 1)
    if kind in "di" and value >> (bits - 1):
        value -= 1 << bits
    return c.format(f"{spec}ll{kind}", ctypes.c_longlong(value))


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


class _CLibrary:
    """snprintf of the C library, in the C locale for this thread as long as it is entered: a program may have set another one."""

    def __init__(self) -> None:
        self._c = ctypes.CDLL(None)
        self._c.newlocale.restype = self._c.uselocale.restype = ctypes.c_void_p
        self._buffer = ctypes.create_string_buffer(_ROOM)

    def __enter__(self) -> _CLibrary:
        self._locale = ctypes.c_void_p(self._c.newlocale(_ALL_CATEGORIES, b"C", None))
        self._before = ctypes.c_void_p(self._c.uselocale(self._locale))
        return self

    def __exit__(self, *_: object) -> None:
        self._c.uselocale(self._before)
        self._c.freelocale(self._locale)

    def format(self, spec: str, argument: object) -> bytes:
        """Returns what snprintf writes."""
        length = self._c.snprintf(self._buffer, ctypes.c_size_t(_ROOM), spec.encode(), argument)
        return self._buffer.raw[: max(0, min(length, _ROOM - 1))]
