"""Seeded damage: to bytes, to tokens, to the values of a JSON or TOML tree."""

from __future__ import annotations

import copy
import json
import random
import re
from typing import Any

_TOKEN = re.compile(rb"[A-Za-z_]\w*|\d[\w.]*|\s+|.", re.S)
_HARD_TOKENS = tuple(
    b"{ } ( ) [ ] ; , * & = == -1 0 0x80000000 0xffffffffffffffffUL 1e999f NULL kernel global local private constant generic "
    b"image2d_t sampler_t event_t float16 half double void struct union typedef const volatile restrict static inline goto "
    b"return break continue for while do if else switch case default sizeof barrier get_global_id printf vload4 as_float4 "
    b"convert_uchar4_sat __attribute__ #define #include #pragma /* */ // \" ' \\ ?: .s0123456789abcdef".split()
)
_HARD_NUMBERS = (
    b"0",
    b"-1",
    b"1",
    b"3",
    b"31",
    b"64",
    b"1000000",
    b"0x7fffffff",
    b"0x80000000u",
    b"4294967296L",
    b"1e38f",
    b"0.0f",
)
_HARD_BYTES = (
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\r",
    b"\x1b[2J",
    b"\xe2\x80\xae",
    b"9" * 5000,
    b"(" * 3000,
    b"\n" * 50,
    b"-",
    b'"',
)
_HARD_VALUES: tuple[Any, ...] = (
    0, -1, 1 << 31, 1 << 32, (1 << 63) - 1, 1 << 63, -(1 << 63), 1 << 64, 10**30, 0.5, -0.0, 1e308, float("nan"), float("inf"),
    float("-inf"), True, False, "", "x", "\0", "a" * 5000, "../../../../etc/passwd", "/dev/zero", "\n", "\u202e", "-1", "1e999",
    [], {}, [[]], [0] * 1000, {"": 0}, [[[[[[]]]]]], [None], "%n%s", "sim:adreno-740", "float32", "image2d",
)  # fmt: skip


def damage_bytes(data: bytes, dice: random.Random) -> bytes:
    """`data` with one to four places cut out, doubled, overwritten or filled with something unusual; or cut short."""
    for _ in range(dice.choice((1, 1, 1, 2, 4))):
        at = dice.randrange(len(data) + 1)
        end = min(len(data), at + dice.choice((1, 1, 2, 8, 64)))
        piece = data[at:end]
        new = dice.choice(
            (
                b"",
                piece * 2,
                bytes(byte ^ (1 << dice.randrange(8)) for byte in piece),
                dice.choice(_HARD_BYTES),
                dice.randbytes(len(piece)),
            )
        )
        data = data[:at] + new + data[end:]
    return data[: dice.randrange(len(data) + 1)] if dice.random() < 0.15 else data


def damage_tokens(data: bytes, vocabulary: list[bytes], dice: random.Random) -> bytes:
    """`data` with one to three tokens removed, doubled, exchanged, or replaced by one of `vocabulary` or a hard one."""
    tokens = _TOKEN.findall(data)
    for _ in range(dice.choice((1, 1, 2, 3))):
        if not tokens:
            break
        at, other = (dice.choice([n for n, token in enumerate(tokens) if token.strip()] or [0]) for _ in range(2))
        match dice.randrange(9):
            case 0:
                del tokens[at]
            case 1:
                tokens.insert(at, tokens[at])
            case 2:
                tokens[at], tokens[other] = tokens[other], tokens[at]
            case 3:
                tokens[at] = dice.choice((dice.choice(vocabulary), dice.choice(_HARD_TOKENS)))
            case _:  # one like it: most of these still compile
                alike = [token for token in tokens if _sort(token) == _sort(tokens[at])]
                tokens[at] = dice.choice(_HARD_NUMBERS if tokens[at][:1].isdigit() else alike)
    return b"".join(tokens)


def _sort(token: bytes) -> str:
    return (
        "number"
        if token[:1].isdigit()
        else "word"
        if token[:1].isalpha() or token[:1] == b"_"
        else "sign"
        if token.strip()
        else ""
    )


def words(data: bytes) -> list[bytes]:
    """The tokens of a text, without blanks."""
    return [token for token in _TOKEN.findall(data) if token.strip()]


def damage_tree(tree: Any, dice: random.Random) -> Any:
    """A copy with one to three of its nodes removed, doubled, renamed, exchanged or replaced by a hard value."""
    tree = copy.deepcopy(tree)
    for _ in range(dice.choice((1, 1, 1, 2, 3))):
        places = list(_places(tree))
        if not places:
            break
        holder, key = dice.choice(places)
        match dice.randrange(6):
            case 0:
                del holder[key]
            case 1 if isinstance(holder, list):
                holder.append(copy.deepcopy(holder[key]))
            case 1:
                holder[dice.choice(("", "x", f"{key}2"))] = holder.pop(key)
            case 2:
                other_holder, other = dice.choice(places)
                holder[key] = copy.deepcopy(other_holder[other])
            case _:
                holder[key] = copy.deepcopy(dice.choice(_HARD_VALUES))
    return tree


def _places(tree: Any) -> Any:
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in items:
        yield tree, key
        yield from _places(value)


def toml_text(tree: dict[str, Any]) -> str:
    """A tree as TOML: every value inline, so that any nesting can be written. TOML has no null: nan stands for it."""
    return "".join(f"{_toml_key(key)} = {_toml(value)}\n" for key, value in tree.items())


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_toml_key(key)} = {_toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, (bool, str)):
        return json.dumps(value).replace("\\ud83d", "")
    if value is None:
        return "nan"
    return str(value)


def _toml_key(key: str) -> str:
    return json.dumps(str(key))
