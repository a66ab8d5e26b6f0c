"""No proof without truth: next to every rule by which an access is proven in range stands the same access out of range.

Each rule is an index whose smallest value is 0 and whose largest is the last element of `a`: it must be proven as it is, and
found one further at either end.
"""

from __future__ import annotations

import numpy as np
import oracle
import pytest

from adreno_sim.engine.abi.bound import BoundBuffer, BoundImage
from adreno_sim.engine.abi.launch_facts import facts_of
from adreno_sim.engine.abi.specialization import BufferArg, ImageArg, LocalArg, ScalarArg, Specialization
from adreno_sim.engine.prove.in_range import prove
from adreno_sim.engine.run import launch, optimistic
from adreno_sim.frontend.program import FrontEndTarget, compile_source
from adreno_sim.ir.memory_ops import touches_memory

LOCAL, ITEMS = 16, 64
HEAD = """__kernel void k(__global int *a, __global int *b, int n, uint u) {
  int i = get_global_id(0), l = get_local_id(0), g = get_group_id(0); """

RULES = {  # what makes an index E; elements of a
    "id": ("E = i;", 64),
    "sum and difference": ("E = 63 - i + l - l;", 64),
    "product": ("E = i * 3;", 190),
    "product of variables": ("E = l * g;", 46),
    "shift to the left": ("E = i << 2;", 253),
    "quotient": ("E = i / 7;", 10),
    "remainder": ("E = i % 7;", 7),
    "quotient of what may be negative": ("E = (i - 32) / 5 + 6;", 13),
    "remainder of what may be negative": ("E = (i - 32) % 5 + 4;", 9),
    "unsigned quotient": ("E = (uint)i / 9u;", 8),
    "quotient and remainder": ("E = i / 12 * 12 + i % 12;", 64),
    "digits": ("E = i % 12 / 4 * 4 + i % 4;", 12),
    "quotient by an argument": ("E = i / n;", 10),
    "remainder by an argument": ("E = i % n;", 7),
    "remainder by a variable": ("E = i % (l + 1);", 16),
    "quotient by a variable": ("E = g / (l + 1);", 4),
    "mask": ("E = i & 7;", 8),
    "mask of what may be negative": ("E = (i - 32) & 15;", 16),
    "mask with holes": ("E = i & 12;", 13),
    "disjoint bits": ("E = g << 4 | l;", 64),
    "bits": ("E = l | (g * 3);", 16),
    "exclusive bits": ("E = l ^ 5;", 16),
    "arithmetic shift": ("E = ((i - 32) >> 2) + 8;", 16),
    "logical shift": ("E = (uint)i >> 3;", 8),
    "shift by a variable": ("E = l >> g;", 16),
    "choice": ("E = i < 5 ? i : 5;", 6),
    "choice of the greater": ("E = i > 20 ? i - 20 : 0;", 44),
    "min": ("E = min(i, 9);", 10),
    "max": ("E = max(i, 9) - 9;", 55),
    "clamp": ("E = clamp(i - 10, 0, 20);", 21),
    "abs": ("E = abs(i - 31);", 33),
    "narrow and wide again": ("E = (long)(short)i;", 64),
    "unsigned byte": ("E = (uchar)(i * 2);", 127),
    "conversion": ("E = convert_int(get_global_id(0));", 64),
    "mul24": ("E = mul24(i, 3);", 190),
    "argument": ("E = i + n - 7;", 64),
    "unsigned argument": ("E = i + (int)u - 5;", 64),
    "grid": ("E = get_global_size(0) - 1 - i;", 64),
    "vector lane": ("int4 v = (int4)(9, i, 9, 9) + (int4)(1, 2, 3, 4); E = v.y - 2;", 64),
    "two ways": ("int x; if (l > 3) x = l; else x = 3; E = x - 3;", 13),
    "below": ("if (i >= 10) return; E = i;", 10),
    "not below": ("if (i < 54) return; E = i - 54;", 10),
    "window": ("if ((uint)(i - 3) >= 7u) return; E = i - 3;", 7),
    "conjunction": ("if (!(i >= 3 && i < 10)) return; E = i - 3;", 7),
    "disjunction": ("if (i < 3 || i > 9) return; E = i - 3;", 7),
    "three conditions": ("if (!((bool)(i >= 3) && (bool)(i < 30) && l < 12)) return; E = i - 3;", 25),
    "condition kept in a variable": ("bool in = i >= 3; in = in && i < 10; if (!in) return; E = i - 3;", 7),
    "condition on bits": ("if (!((i >= 3) & (i < 10))) return; E = i - 3;", 7),
    "equal": ("if (i != 5) return; E = i - 5;", 1),
    "not equal to the first": ("if (i == 0) return; E = i - 1;", 63),
    "not equal to the last": ("if (i == 63) return; E = i;", 63),
    "condition on a sum": ("if (16 * g + l >= 50) return; E = 32 * g + 2 * l;", 99),
    "condition on multiples": ("if (64 * g + 4 * l >= 51) return; E = 64 * g + 4 * l;", 49),
    "condition on multiples from below": ("if (64 * g + 4 * l < 21) return; E = 64 * g + 4 * l - 24;", 229),
    "conditions on digits": ("int r = i % 12 / 4 + l % 3; if (r < 1 || r > 3 || i >= 48) return; E = (r - 1) * 4 + i % 4;", 12),
    "condition on a quotient": ("if (i / 8 >= 5) return; E = i;", 40),
    "case": ("switch (i) { case 7: break; default: return; } E = i - 7;", 1),
    "argument as bound": ("if (i >= n) return; E = i;", 7),
    "product of variables that may be negative": ("E = (l - 8) * (g - 1) + 16;", 31),
    "quotient by a variable from below": ("E = (i + 40) / (l % 3 + 2) - 10;", 42),
    "signed quotient by a variable": ("E = (i - 32) / (l % 3 + 2) + 16;", 32),
    "quotient of what is negative": ("E = (i - 64) / 5 + 12;", 13),
    "signed remainder by a variable": ("E = (i - 32) % (l % 3 + 4) + 5;", 11),
    "signed remainder of what is small": ("E = (i - 3) % 100 + 3;", 64),
    "remainder of what is small": ("E = l % (g + 20);", 16),
    "remainder below a variable": ("E = i % (l % 3 + 4);", 6),
    "what a remainder leaves": ("E = g - i % (g + 1);", 4),
    "arithmetic shift by a variable": ("E = ((i - 32) >> (l % 3 + 1)) + 16;", 32),
    "logical shift of what may be negative": ("E = (uint)(i - 32) >> (26 + (g & 1));", 64),
    "mask that is variable": ("E = i & l;", 16),
    "mask that keeps all": ("E = i & -1;", 64),
    "variable mask of what may be negative": ("E = (i - 32) & l;", 16),
    "disjoint bits with a constant": ("E = ((g * 16 + 64) | l) - 64;", 64),
    "bits, more on the right": ("E = (g & 1) | l;", 16),
    "truth": ("E = i > 5;", 2),
    "truth of a lane": ("E = -((int2)(i, l) > (int2)(5, 5)).x;", 2),
    "byte of a product": ("E = (uchar)(i * 255);", 256),
    "conversion of an unsigned byte": ("E = convert_long((uchar)(i * 255));", 256),
    "conversion of a signed byte": ("E = convert_long((char)(i - 32)) + 32;", 64),
    "both ways the same": ("E = (l > 3 ? i : i) - i + l;", 16),
    "lanes put together": ("int4 v = (int4)(i, 9, 9, 9); int2 w = (int2)(5, l); v.yz = w; E = v.z;", 16),
    "unsigned min": ("E = min((uint)i, 9u);", 10),
    "built-in choice": ("E = select(l, g + 13, i & 1);", 17),
    "window from the right": ("if (!(7u > (uint)(i - 3))) return; E = i - 3;", 7),
    "quotient under a condition": ("if (i >= 40) return; E = i / 12;", 4),
    "quotient under a condition from below": ("if (i < 24) return; E = i / 12 - 2;", 4),
    "quotient of a quotient": ("E = (i / 8 + 3) / 4;", 3),
    "digits from the other end": (
        "int r = i % 12 / 4 + l % 3; if (r < 1 || r > 3 || i >= 48) return; E = (3 - r) * 4 + i % 4;", 12,
    ),
    "first of two cases": ("switch (i) { case 7: break; case 9: return; default: return; } E = i - 7;", 1),
    "negated condition kept in a variable": ("bool out = i >= 10; bool in = !out; if (!in) return; E = i;", 10),
    "condition turned round": ("if (!((i >= 10) ^ 1)) return; E = i;", 10),
    "choice of one and nothing": ("int x = i < 10 ? 1 : 0; if (!x) return; E = i;", 10),
    "choice of nothing and one": ("int x = i >= 10 ? 0 : 1; if (!x) return; E = i;", 10),
    "choice that is refused": ("int x = i < 10 ? 0 : 1; if (x) return; E = i;", 10),
    "counter behind its loop": ("int j = l + 20; while (j < 25) ++j; E = j - 25;", 11),
    "falling counter behind its loop": ("int j = 40 - l; while (j > 30) --j; E = j - 25;", 6),
    "counter that falls below zero": ("int j = 9; while (j >= 0) --j; E = j + 1;", 1),
}  # fmt: skip

LOOPS = {  # a loop around one access at index X
    "up": ("for (int j = 0; j < 10; ++j) { X = j; USE }", 10),
    "up to and with": ("for (int j = 0; j <= 10; ++j) { X = j; USE }", 11),
    "down": ("for (int j = 9; j >= 0; --j) { X = j; USE }", 10),
    "in steps": ("for (int j = 0; j < 10; j += 3) { X = j; USE }", 10),
    "in steps that miss the end": ("for (int j = 0; j < 12; j += 5) { X = j; USE }", 11),
    "to an argument": ("for (int j = 0; j < n; ++j) { X = j; USE }", 7),
    "from an id": ("for (int j = l; j < 20; j += 16) { X = j; USE }", 20),
    "grid stride": ("for (int j = i; j < 200; j += get_global_size(0)) { X = j; USE }", 200),
    "do": ("int j = 0; do { X = j; USE ++j; } while (j < 10);", 10),
    "nested": ("for (int j = 0; j < 4; ++j) for (int m = 0; m < 5; ++m) { X = j * 5 + m; USE }", 20),
    "triangle": ("for (int j = 0; j < 6; ++j) for (int m = 0; m <= j; ++m) { X = j - m; USE }", 6),
    "halving": ("for (int s = 16; s > 0; s >>= 1) { X = s - 1; USE }", 16),
    "doubling": ("for (int s = 1; s < 17; s *= 2) { X = s - 1; USE }", 16),
    "condition inside": ("for (int j = 0; j < 40; ++j) if (j % 7 == 3 && j < 11) { X = j - 3; USE }", 8),
    "left early": ("for (int j = 0; j < 40; ++j) { if (j + l > 19) break; X = j + l; USE }", 20),
    "skipped": ("for (int j = 0; j < 40; ++j) { if (j < 10) continue; X = j - 10; USE }", 30),
    "unsigned": ("for (uint j = 0; j < 10u; ++j) { X = j; USE }", 10),
    "short": ("for (short j = 0; j < 10; ++j) { X = j; USE }", 10),
    "64 bits": ("for (long j = 0; j < 10; ++j) { X = j; USE }", 10),
    "the other way round": ("for (int j = 0; j < 10; j = 3 + j) { X = j; USE }", 10),
    "down by a difference": ("for (int j = 9; j >= 0; j = j - 1) { X = j; USE }", 10),
    "in steps of a variable": ("int s = n - 4; for (int j = 0; j < 10; j += s) { X = j; USE }", 10),
    "turns": ("for (int j = l; j < 16; ++j) { X = j - l; USE }", 16),
    "turns down": ("for (int j = 15 - l; j >= 0; --j) { X = 15 - l - j; USE }", 16),
    "halving an id": ("for (int j = i; j > 0; j >>= 1) { X = j - 1; USE }", 63),
    "condition with a factor": ("for (int j = 0; j < 300; ++j) { if (3 * j + l < 100) continue; X = j - 29; USE }", 271),
}

DOUBTFUL = {  # index out of range for some work-item, although something speaks for it; elements of a
    "32-bit wrap": ("E = (i << 26) >> 26;", 64),
    "32-bit wrap of a product": ("E = i * 0x8000001 / 0x8000001;", 64),
    "32-bit wrap of a sum": ("E = (i + 0x7fffffe0 - 0x7fffffff + 31) % 100 + (i + 0x7fffffe0 < 0);", 64),
    "wrap of an unsigned difference": ("E = (uint)(i - 1) / 4u;", 64),
    "wrap of a byte": ("E = (char)(i * 3);", 200),
    "wrap before widening": ("E = (long)(i * 0x4000000) >> 26;", 64),
    "negative remainder": ("E = (i - 32) % 5;", 64),
    "division by a loaded number": ("E = 63 / b[i];", 60),
    "remainder by a loaded number": ("E = i % b[i];", 15),
    "condition on another variable": ("if (l >= 10) return; E = i;", 50),
    "condition that is left": ("int x = 0; if (i < 10) x = 1; b[i] = x; E = i;", 10),
    "one of two conditions": ("if (!(i < 10 || i == 20)) return; E = i;", 10),
    "negated conjunction": ("if (i < 10 && l < 20) return; E = i - 11;", 64),
    "condition before a change": ("int j = i; if (j >= 10) return; j += 5; E = j;", 10),
    "only from above": ("if (i - 40 >= 10) return; E = i - 40;", 10),
    "only from below": ("if (i - 40 < 0) return; E = i - 40;", 20),
    "unsigned bound that is negative": ("if ((uint)(i - 5) >= (uint)-2) return; E = i - 5 + (i > 9 ? 0 : -9);", 64),
    "signed condition on an unsigned value": ("uint j = i - 5; if ((int)j >= 10) return; E = (int)j;", 64),
    "flag of an earlier turn": (
        "int j = 0, ok = 1; for (int t = 0; t < 3; ++t) { if (t == 0) ok = j < 10; j += 7; if (ok && j >= 0) STORE(j); }"
        "return; E = 0;",
        17,
    ),
    "condition of an earlier turn": (
        "int j = l; bool in = 0; for (int t = 0; t < 5; ++t) { if (in && j >= 0) STORE(j); in = j < 10; j += 9; }"
        "return; E = 0;",
        10,
    ),
    "bound that moves": ("int m = 10; for (int j = 0; j < m; ++j) { STORE(j); if (j == 5) m = 14; } return; E = 0;", 10),
    "counter that is changed": ("for (int j = 0; j < 10; ++j) { j += l; STORE(j); } return; E = 0;", 10),
    "counter behind its loop": ("int j; for (j = 0; j < 10; ++j) b[j] = 1; E = j;", 10),
    "counter that wraps": ("uchar j = 0; for (int t = 0; t < 5; ++t) { j += 100; } E = j;", 200),
    "step from memory": ("for (int j = 0; j < 10; j += b[i] + 20) { STORE(j + (j > 0)); STORE(63 / b[i]); } return; E = 0;", 10),
    "64-bit wrap": ("E = (((long)i << 58) >> 58);", 64),
    "choice of the other way": ("E = i < 5 ? 5 : i;", 20),
    "shift past the width": ("E = 64 >> (b[i] & 31);", 30),
    "min of the wrong sign": ("E = min(i - 20, 9);", 10),
    "unsigned min": ("E = max(i - 20, (int)min((uint)(i - 20), 9u));", 10),
    "32-bit wrap below": ("E = ((-i << 26) >> 26) + 63;", 64),
    "wrap of a product of variables": ("E = (l * 40000) * (g * 40000) / 1200000000;", 61),
    "wrap of a product of variables below": ("E = (l * 40000) * (g * -40000) / 1200000000 + 60;", 61),
    "shift to the left by a variable": ("E = l << (g & 1);", 16),
    "shift by too much": ("E = 100 >> (l + 20);", 50),
    "shift by less than nothing": ("E = 100 >> (l - 4);", 100),
    "logical shift by nothing": ("uint s = (uint)(i - 32) >> (l & 1); if ((int)s >= 10) return; E = (int)s;", 10),
    "division by what may be zero": ("E = 63 / l - 4;", 60),
    "remainder by what may be zero": ("int r = i % l; E = l - r - 1;", 15),
    "mask with holes is no remainder": ("if ((i & 5) != 0) return; E = i % 6;", 1),
    "mask of what may be minus one": ("E = (i - 1) & (l - 1);", 64),
    "bits of what may be negative": ("E = (i - 1) | l;", 64),
    "bits with what may be negative": ("E = l | (i - 1);", 64),
    "exclusive bits in common": ("E = ((g * 16 + 3) ^ l) - 3;", 64),
    "exclusive bits in common with a multiple": ("E = ((g * 8 + 8) ^ l) - 8;", 40),
    "widening of an unsigned number": ("E = (long)(uint)(i - 1) + 1;", 64),
    "conversion of an unsigned number": ("int s = convert_int((uint)(i - 32)); if (s >= 10) return; E = s;", 10),
    "two lanes as one number": ("E = as_long((int2)(i, l));", 64),
    "lane that is not known": ("int4 v = (int4)(0, 1, 2, i); E = v[l & 3];", 3),
    "lane that is put somewhere": ("int4 v = (int4)(0, 1, 2, 0); v[l & 3] = i; E = v.w;", 3),
    "choice of the next": ("E = l > 3 ? i : i + 1;", 63),
    "choice of another": ("E = l > 3 ? g : i;", 4),
    "quotient of a multiple of a quotient": ("E = (i / 8 * 3) / 4;", 2),
    "unsigned max": ("E = (int)max((uint)(i - 20), 3u) - 3;", 41),
    "unsigned clamp": ("E = (int)clamp((uint)(i - 20), 3u, 50u) - 3;", 41),
    "abs of an unsigned number": ("E = (int)abs((uint)(i - 32));", 33),
    "mul24 of more than 24 bits": ("E = mul24(i << 20, 2) >> 21;", 64),
    "unsigned bound that may be negative": ("if ((uint)l >= (uint)(g - 2)) return; E = l;", 1),
    "unsigned bound that may be minus one": ("if ((uint)l >= (uint)(g - 1)) return; E = l;", 2),
    "unsigned bound from the left": ("if (!((uint)(g - 2) > (uint)l)) return; E = l;", 1),
    "unsigned bound and the number itself": ("if ((uint)l > (uint)(g - 2)) return; E = l;", 2),
    "not below an unsigned number": ("if ((uint)(i - 20) < 10u) return; E = i - 30;", 34),
    "unequal in the middle": ("if (i == 30) return; E = i;", 30),
    "address unequal to another object's": ("if (a + i == b) return; E = i - 1;", 63),
    "two cases of one way": ("switch (i) { case 3: case 7: break; default: return; } E = i - 3;", 4),
    "default": ("switch (i) { case 0: return; default: break; } E = i;", 1),
    "exclusive condition": ("if (!((i < 10) ^ (l > 3))) return; E = i;", 10),
    "condition not turned round": ("if (!((i >= 10) ^ 0)) return; E = i;", 10),
    "choice of conditions": ("bool p = i < 10, q = l > 3, in = p ? true : q; if (!in) return; E = i - 10;", 54),
    "other choice of conditions": ("bool p = i >= 10, q = l > 3, in = p ? q : true; if (!in) return; E = i - 10;", 54),
    "either of two conditions": ("bool in; if (g > 1) in = i < 40; else in = i < 10; if (!in) return; E = i - 32;", 8),
    "condition or nothing": ("bool in = true; if (l > 3) in = i < 10; if (!in) return; E = i;", 10),
    "condition that always compares": ("if (!((i < 10) >= 0)) return; E = i;", 10),
    "condition unequal to two": ("if (!((i < 10) != 2)) return; E = i;", 10),
    "condition unequal to three": ("if (!((i < 10) != 3)) return; E = i - 10;", 54),
    "number as a condition": ("int x = 2; if (l > 3) x = i < 10; if (!x) return; E = i;", 10),
    "number chosen as a condition": ("int x = i < 10 ? 1 : 2; if (!x) return; E = i;", 10),
    "number chosen first as a condition": ("int x = i < 10 ? 2 : 1; if (!x) return; E = i - 10;", 54),
    "condition left by both ways": ("int x; if (i < 10) x = 1; else x = b[i]; b[i] = x; E = i;", 10),
    "loop with two ways in": (
        "int j = 0; if (l & 1) goto second; first: j += 3; second: j += 5; if (j < 30) goto first; E = j - 29 + (j & 1);", 5,
    ),
    "two steps": ("int j = 0; while (j < 40) { if (l & 1) { j += 5; continue; } j += 3; } E = j % 3;", 1),
    "step from another variable": (
        "int j = 0, m = -l; for (int t = 0; t < 2; ++t) { if (j < 10) STORE(j); j = m + 1; } return; E = 0;", 10,
    ),
    "step by an id": (
        "int j = 0; for (int t = 0; t < 3; ++t) { if (j < -20) break; if (j >= 0) STORE(j); j += l - 3; } return; E = 0;", 1,
    ),
    "counter that wraps at 32 bits": ("int j = 0; for (int t = 0; t < 3; ++t) j += 0x40000000; E = j >> 30;", 2),
    "falls further every turn": ("int j = 40; for (int t = 0; t < 5; ++t) j -= l; E = j + 15;", 56),
    "one of two ways back falls": (
        "int j = 20, t = 0; while (t < 5) { ++t; if (t & 1) { j = min(j, 20); continue; } j -= l; } E = j;", 21,
    ),
    "one of two ways back grows": (
        "int j = 20, t = 0; while (t < 4) { ++t; if (t & 1) { j = min(j, 20); continue; } j += l; } E = j;", 21,
    ),
    "value before the step": ("int j = 0, m = 0; while (m < 10) { m = j; j += 7; } E = j;", 10),
    "test of the turn before": (
        "int j = l, m = 0; for (int t = 0; t < 4; ++t) { if (m < 10 && j >= 0) STORE(j); m = j; j += 9; } return; E = 0;", 10,
    ),
}  # fmt: skip


PLANTED = "a[({0}) + 1] |= 1; a[({0}) - 1] |= 1;"
"""The accesses next to one in range: reads and writes that give the same whatever the order of work-items."""


def source_of(make: str, planted: bool) -> str:
    use = PLANTED if planted else "a[{0}] |= 1;"
    return f"#define STORE(j) {use.format('j')}\n{HEAD} long E; {make} {use.format('E')} }}"


def loop_source(loop: str, planted: bool) -> str:
    use = PLANTED if planted else "a[{0}] |= 1;"
    return f"{HEAD} long X; {loop.replace('USE', use.format('X'))} }}"


def proven(source: str, elements: int, items: int = ITEMS, offset: int = 0) -> list[bool]:
    """Of each access to global memory, in order."""
    function = compile_source(source, "", target=FrontEndTarget()).kernels["k"]
    specs = (BufferArg(), BufferArg(), ScalarArg(4), ScalarArg(4))
    spec = Specialization(local_size=(LOCAL, 1, 1), args=specs, uniform=items % LOCAL == 0)
    args = [BoundBuffer(0, 4 * elements), BoundBuffer(0, 256), (7).to_bytes(4, "little"), (5).to_bytes(4, "little")]
    known = prove(function, spec, facts_of(function, spec, (items, 1, 1), (offset, 0, 0), args)).in_range
    return [number in known for number, i in enumerate(i for b in function.blocks for i in b.instrs) if touches_memory(i)]


def findings(engine, monkeypatch, source: str, elements: int, fast: bool) -> tuple[list[object], list[np.ndarray]]:
    args = [oracle.Buffer(np.zeros(elements, np.int32)), oracle.Buffer(np.arange(ITEMS, dtype=np.int32) % 16 + 1)]
    args += [oracle.Scalar(np.int32(7)), oracle.Scalar(np.uint32(5))]
    if fast:
        result = engine.run(source, "k", (ITEMS,), (LOCAL,), args, threads=1)
    else:
        monkeypatch.setattr(optimistic, "run", reporting_run)
        result = engine.run_with("scalar", source, "k", (ITEMS,), (LOCAL,), args, threads=1)
        monkeypatch.undo()
    return result.findings, result.outputs


def reporting_run(module, kernel, key, *args, keep=True, **options):
    """What `replay.run` stands for: code that looks at every access and reports at once."""
    return launch.run(optimistic.specialize(module, kernel, key, keep=keep), *args, **options)


@pytest.mark.parametrize("name", RULES)
def test_an_index_in_range_is_proven_and_its_neighbours_are_found(engine, monkeypatch, name):
    make, elements = RULES[name]
    check(engine, monkeypatch, [source_of(make, planted) for planted in (False, True)], elements)


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_in_range_is_proven_and_its_neighbours_are_found(engine, monkeypatch, name):
    loop, elements = LOOPS[name]
    check(engine, monkeypatch, [loop_source(loop, planted) for planted in (False, True)], elements)


def check(engine, monkeypatch, sources: list[str], elements: int) -> None:
    good, planted = sources
    assert all(proven(good, elements)), "not proven"
    assert findings(engine, monkeypatch, good, elements, True)[0] == []
    assert not any(proven(planted, elements))
    found = findings(engine, monkeypatch, planted, elements, True)[0]
    assert [f.kind.label for f in found] == ["out-of-bounds-read", "out-of-bounds-write"] * 2


@pytest.mark.parametrize("name", DOUBTFUL)
def test_what_only_seems_in_range_is_found(engine, monkeypatch, name):
    make, elements = DOUBTFUL[name]
    source = source_of(make, False)
    found, outputs = findings(engine, monkeypatch, source, elements, True)
    exact, wanted = findings(engine, monkeypatch, source, elements, False)
    assert found == exact and any("out-of-bounds" in f.kind.label for f in exact)
    for mine, other in zip(outputs, wanted, strict=True):
        np.testing.assert_array_equal(mine, other)


@pytest.mark.parametrize(
    ("items", "offset", "make", "elements"),
    [
        (61, 0, "E = i;", 61),
        (61, 0, "E = 60 - i;", 61),
        (61, 5, "E = i - 5;", 61),
        (61, 5, "E = 65 - i;", 61),
        (64, 5, "E = i - 5;", 64),
        (64, 5, "E = i - get_global_offset(0);", 64),
        (64, 5, "E = l + 16 * g;", 64),
    ],
)
def test_groups_at_the_edge_and_offsets(engine, items, offset, make, elements):
    for planted in (False, True):
        source = source_of(make, planted)
        assert (any if planted else all)(proven(source, elements, items, offset)) != planted
        args = [oracle.Buffer(np.zeros(elements, np.int32)), oracle.Buffer(np.zeros(64, np.int32))]
        args += [oracle.Scalar(np.int32(7)), oracle.Scalar(np.uint32(5))]
        result = engine.run(source, "k", (items,), (LOCAL,), args, offset=(offset, 0, 0), threads=1)
        assert result.kinds() == (["out-of-bounds-read", "out-of-bounds-write"] * 2 if planted else [])


@pytest.mark.parametrize(
    ("type", "value", "make"),
    [
        ("char", np.int8(-5), "E = i + v + 5;"),
        ("uchar", np.uint8(9), "E = i + v - 9;"),
        ("ushort", np.uint16(300), "E = i + v - 300;"),
        ("long", np.int64(-(2**40)), "E = i + v + (1L << 40);"),
        ("int2", np.array([4, -7], np.int32), "E = i + v.y + 7;"),
        ("short4", np.array([1, 2, -3, 4], np.int16), "E = i + v.z + 3;"),
        ("uint", np.uint32(2**32 - 6), "E = i + (int)v + 6;"),
    ],
)
def test_arguments_of_every_width(engine, type, value, make):
    specs = (BufferArg(), BufferArg(), ScalarArg(value.nbytes))
    for planted in (False, True):
        source = source_of(make, planted).replace("int n, uint u", f"{type} v")
        function = compile_source(source, "", target=FrontEndTarget()).kernels["k"]
        spec = Specialization(local_size=(LOCAL, 1, 1), args=specs)
        args = [BoundBuffer(0, 256), BoundBuffer(0, 256), value.tobytes()]
        known = prove(function, spec, facts_of(function, spec, (ITEMS, 1, 1), (0, 0, 0), args)).in_range
        assert bool(known) != planted
        given = [oracle.Buffer(np.zeros(64, np.int32)), oracle.Buffer(np.zeros(64, np.int32)), oracle.Scalar(value)]
        result = engine.run(source, "k", (ITEMS,), (LOCAL,), given, threads=1)
        assert result.kinds() == (["out-of-bounds-read", "out-of-bounds-write"] * 2 if planted else [])


def test_only_what_never_wraps_is_called_exact():
    """Where an operation on vectors is exact in one lane, it is not said of the operation."""
    for body, exact in (
        ("b[i] = i * 3;", True),
        ("b[i] = i * 0x8000001;", False),
        ("b[i] = i + 0x7fffffc0;", True),
        ("b[i] = i + 0x7fffffc1;", False),
        ("b[i] = n - 0x7fffffff;", True),
        ("b[i] = (((int2)(i, i)) * (int2)(1, 0x8000001)).y;", False),
    ):
        function = compile_source(f"{HEAD} {body} }}", "", target=FrontEndTarget()).kernels["k"]
        spec = Specialization(local_size=(LOCAL, 1, 1), args=(BufferArg(), BufferArg(), ScalarArg(4), ScalarArg(4)))
        args = [BoundBuffer(0, 256), BoundBuffer(0, 256), (7).to_bytes(4, "little"), bytes(4)]
        known = prove(function, spec, facts_of(function, spec, (ITEMS, 1, 1), (0, 0, 0), args)).nsw
        numbered = enumerate(i for b in function.blocks for i in b.instrs)
        (number,) = [n for n, i in numbered if i.op in ("add", "sub", "mul")]
        assert (number in known) == exact, body


KINDS = {  # other ways to touch memory: source of E, how it is used; elements of a
    "vload": ("b[i] = vload4(E, a).w;", "E = i;", 256),
    "vstore": ("vstore3((int3)(i), E, a);", "E = i;", 192),
    "vector": ("((__global int4 *)a)[E] = (int4)(i);", "E = i;", 256),
    "bytes": ("((__global char *)a)[E] = i;", "E = i * 4 + l % 4;", 64),
    "vload_half": ("b[i] = vload_half2(E, (__global half *)a).y;", "E = i;", 64),
    "atomic": ("atomic_add(a + E, 1);", "E = i;", 64),
    "pointer that moves": ("__global int *p = a + E; p += 3; p[-3] = 1;", "E = i;", 64),
    "local memory": ("__local int t[16]; t[E] = i; barrier(CLK_LOCAL_MEM_FENCE); b[i] = t[E];", "E = l;", 0),
    "private memory": ("int t[8]; for (int j = 0; j < 8; ++j) t[j] = j; t[E] = i; b[i] = t[7 - E];", "E = l & 7;", 0),
    "constant memory": ("b[i] = table[E];", "E = i & 3;", 0),
    "constant places": ("b[i] = (table + 3)[E] + (table + 0)[E];", "E = 0;", 0),
    "structure": ("struct { int x[4]; } s = {{1, 2, 3, i}}; b[i] = s.x[E];", "E = i & 3;", 0),
}  # fmt: skip


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_access(engine, monkeypatch, name):
    use, make, elements = KINDS[name]
    sources = [f"__constant int table[4] = {{1, 2, 3, 4}};\n{HEAD} int E; {make} E += {shift}; {use} }}" for shift in (0, 1, -1)]
    assert all(proven(sources[0], elements)) and findings(engine, monkeypatch, sources[0], max(elements, 1), True)[0] == []
    for source in sources[1:]:
        assert not all(proven(source, elements))
        found, _ = findings(engine, monkeypatch, source, max(elements, 1), True)
        assert found and found == findings(engine, monkeypatch, source, max(elements, 1), False)[0]


def image_kernel(x: str, y: str, z: str, write: bool) -> str:
    access = (
        f"write_imagef(t, (int4)({x}, {y}, {z}, 0), (float4)(1))"
        if write
        else f"v += read_imagef(t, s, (int4)({x}, {y}, {z}, 0))"
    )
    kind = "__write_only" if write else "__read_only"
    return (
        "__constant sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;\n"
        f"__kernel void k({kind} image2d_array_t t, __global float4 *out) {{ int x = get_global_id(0), y = get_global_id(1);\n"
        f"  float4 v = (float4)(0); for (int z = 0; z < 3; ++z) {access}; out[y * 8 + x] = v; }}"
    )


@pytest.mark.parametrize("write", [False, True])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_image_coordinates(engine, axis, write):
    extents = (8, 4, 3)
    for shift in (0, 1, -1):
        where = [f"{name} + {shift if axis == n else 0}" for n, name in enumerate("xyz")]
        source = image_kernel(*where, write)
        function = compile_source(source, "", target=FrontEndTarget()).kernels["k"]
        spec = Specialization(local_size=(4, 4, 1), args=(ImageArg("image2d_array", "RGBA", "FLOAT"), BufferArg()))
        args = [BoundImage(0, *extents, 128, 512, 1536), BoundBuffer(0, 512)]
        known = prove(function, spec, facts_of(function, spec, (8, 4, 1), (0, 0, 0), args)).in_range
        assert len(known) == (2 if shift == 0 else 1)
        image = oracle.Image(np.zeros((3, 4, 8, 4), np.float32), "image2d_array", "RGBA", "FLOAT")
        result = engine.run(source, "k", (8, 4), (4, 4), [image, oracle.Buffer(np.zeros((32, 4), np.float32))])
        wanted = "image-write-out-of-range" if write else "clamped-read"
        silent = shift == 0 or (axis == 2 and not write)  # with a sampler the layer is clamped without a word
        assert result.kinds() == ([] if silent else [wanted])


def launched(sizes: tuple[int, int], n: int = 7, items: int = ITEMS, local: int | None = None, same: bool = False) -> list[str]:
    """Kinds of findings of one kernel, launched again and again with other arguments."""
    owner, address = launch.zeroed_aligned(4096)
    second = address if same else address + 2048
    args = [BoundBuffer(address, sizes[0]), BoundBuffer(second, sizes[1]), n.to_bytes(4, "little", signed=True), bytes(4)]
    kernel = CHANGING.kernels["k" if local is None else "with_local"]
    specs: tuple[object, ...] = (BufferArg(), BufferArg(), ScalarArg(4), ScalarArg(4))
    if local is not None:
        args, specs = [args[0], None], (BufferArg(), LocalArg(local))  # type: ignore[list-item]
    spec = Specialization(local_size=(LOCAL, 1, 1), args=specs, uniform=items % LOCAL == 0)  # type: ignore[arg-type]
    result = optimistic.run(CHANGING, kernel, spec, (items, 1, 1), (0, 0, 0), args, threads=1)
    assert owner is not None
    return sorted(f.kind.label for f in result.findings)


CHANGING = compile_source(
    HEAD + "a[i + n - 7] = b[i]; }\n"
    "__kernel void with_local(__global int *a, __local int *t) { int l = get_local_id(0); t[l] = 1; a[get_global_id(0)] = t[l];}",
    "-cl-std=CL2.0",
    target=FrontEndTarget(),
)  # fmt: skip


def test_what_is_proven_of_one_launch_is_not_believed_of_another():
    assert launched((256, 256)) == []
    assert launched((252, 256)) == ["out-of-bounds-write"]  # a smaller view of the same storage
    assert launched((256, 252)) == ["out-of-bounds-read"]
    assert launched((256, 252), same=True) == ["out-of-bounds-read"]
    assert launched((256, 256), n=8) == ["out-of-bounds-write"]
    assert launched((256, 256), n=6) == ["out-of-bounds-write"]
    assert launched((256, 256), n=-(2**31)) == ["out-of-bounds-write"]
    assert launched((256, 256), items=80) == ["out-of-bounds-read", "out-of-bounds-write"]
    assert launched((256, 256), items=65) == ["out-of-bounds-read", "out-of-bounds-write"]
    assert launched((252, 252), items=63) == []
    assert launched((256, 256)) == []
    assert launched((256, 0), local=64) == []
    assert launched((256, 0), local=60) == ["out-of-bounds-read", "out-of-bounds-write"]
