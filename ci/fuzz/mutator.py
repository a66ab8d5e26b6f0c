"""Changes of tokens, lines and values of a text: what bytes at random seldom make a sensible file of."""

from __future__ import annotations

import random
import re

_TOKEN = re.compile(rb'"(?:[^"\\\n]|\\.)*"|[A-Za-z_][\w.]*|-?\d[\w.+-]*|\s+|.', re.S)
HARD = (
    b"0", b"-1", b"1", b"2147483648", b"4294967296", b"9223372036854775807", b"9223372036854775808", b"-9223372036854775808",
    b"1" + b"0" * 30, b"1e999", b"0.5", b"nan", b"inf", b"true", b"null", b'""', b'"x"', b'"\\u0000"', b'"\\ud800"', b'"a,b"',
    b'"../../x"', b'"float16"', b"[]", b"{}", b"[[]]", b"[9223372036854775807, 4]", b"[" * 60, b"\0", b"\xe9", b"\x1b[2J", b"\n",
    b"1979-05-27", b"0x7fffffff", b"i0", b"i8388608", b"ptr", b"<4 x float>", b"zeroinitializer", b"undef", b"%0", b"@x", b"!0",
)  # fmt: skip


def mutate(data: bytes, dice: random.Random) -> bytes:
    """`data` with one to three changes."""
    for _ in range(dice.choice((1, 1, 2, 3))):
        data = dice.choice((_change_token, _change_token, _change_token, _change_line, _change_byte, _cut))(data, dice)
    return data


def _change_token(data: bytes, dice: random.Random) -> bytes:
    tokens = [found.group() for found in _TOKEN.finditer(data)]
    places = [place for place, token in enumerate(tokens) if not token.isspace()]
    if not places:
        return dice.choice(HARD)
    place = dice.choice(places)
    tokens[place] = dice.choice((b"", dice.choice(HARD), dice.choice(HARD), tokens[dice.choice(places)], tokens[place] * 2))
    return b"".join(tokens)


def _change_line(data: bytes, dice: random.Random) -> bytes:
    lines = data.split(b"\n")
    place, other = dice.randrange(len(lines)), dice.randrange(len(lines))
    lines[place : place + 1] = dice.choice(([], [lines[place]] * 2, [lines[other]], [lines[other], lines[place]]))
    return b"\n".join(lines)


def _change_byte(data: bytes, dice: random.Random) -> bytes:
    at = dice.randrange(len(data) + 1)
    return data[:at] + bytes([dice.randrange(256)]) + data[at + dice.randrange(2) :]


def _cut(data: bytes, dice: random.Random) -> bytes:
    at = dice.randrange(len(data) + 1)
    return dice.choice((data[:at], data[at:], data[:at] + data[at + dice.randrange(64) :]))
