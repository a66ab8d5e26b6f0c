"""Random kernels of groups that hand over values in local memory: several groups as one, and one work-item after the other."""

from __future__ import annotations

import random

import numpy as np
import pytest

from .coarse_runs import Run, run_both

TYPES = {"float": np.float32, "int": np.int32, "uchar": np.uint8, "short": np.int16}
MASK = 1023
"""Of indices into the input, which has one element more."""


class RandomKernel:
    """A kernel k, its launch and its arguments, by a seed. The number of a group is split by the rows of an image, mostly."""

    def __init__(self, seed: int):
        self.seed, self._random = seed, random.Random(seed)
        choose = self._random
        self.row, self.rows, planes = choose.choice([9, 13, 16, 20, 33]), choose.choice([1, 2, 3]), choose.choice([1, 2, 4])
        self.groups = self.row * self.rows * planes, choose.choice([1, 1, 2])
        self.local = self._local_size()
        self.items = self.local[0] * self.local[1]
        self.type = choose.choice(list(TYPES))
        self.splits = choose.random() < 0.8
        self.id_type = choose.choice(["int", "uint", "size_t", "long", "ushort"])
        self.source = self._kernel()
        data = np.random.default_rng(seed)
        self.args = [
            data.integers(0, 100, MASK + 1).astype(TYPES[self.type]),
            np.zeros(self.groups[0] * self.groups[1] * self.items, TYPES[self.type]),
        ]
        self.grid = self.groups[0] * self.local[0], self.groups[1] * self.local[1], 1

    def run(self, args: list[np.ndarray], **options: str) -> Run:
        """The launch, which agrees with one work-item after the other."""
        try:
            return run_both(self.source, self.grid, (*self.local, 1), args, **options)[0]
        except AssertionError as error:
            raise AssertionError(f"seed {self.seed}: {error}\n{self.source}\n{self.grid} {self.local}") from None

    def _local_size(self) -> tuple[int, int]:
        return self._random.choice([4, 8, 11, 24]), self._random.choice([1, 1, 2])

    def _index(self, depth: int = 2) -> str:
        pick = self._random
        if depth and pick.random() < 0.6:
            if pick.random() < 0.3:
                return f"({self._index(depth - 1)}) * {pick.choice([2, 3, 7, self.row])}"
            return f"({self._index(depth - 1)}) {pick.choice('+-')} ({self._index(depth - 1)})"
        row, plane = self.row, self.row * self.rows
        leaves = ["l", "l % 3", "l / 3", "(int)get_global_id(0)", "(int)get_group_id(1)", "(int)get_local_id(1)", "5", "g"]
        if self.splits:
            leaves += [
                f"g % {row}",
                f"g / {row}",
                f"g % {plane}",
                f"g / {plane}",
                f"g % {plane} / {row}",
                f"g / {row} % {self.rows}",
            ]
            leaves += [f"(int)(get_group_id(0) % {row})", f"(int)get_group_id(0) / {plane}"]
        if row == 16:
            leaves += ["(g & 15)", "(g >> 4)", "(int)(get_group_id(0) >> 4) % 3"]
        return f"(int)({pick.choice(leaves)})"

    def _condition(self) -> str:
        return f"({self._index()}) {self._random.choice(['<', '>=', '=='])} ({self._index()})"

    def _read(self) -> str:
        return f"in[({self._index()}) & {MASK}]"

    def _kernel(self) -> str:
        pick, lines = self._random, []
        lines.append(f"T v = {self._read()};")
        if pick.random() < 0.5:
            lines.append(f"if ({self._condition()}) v += {self._read()}; else v -= (T){pick.randrange(9)};")
        if pick.random() < 0.4:
            lines.append(f"for (int i = 0; i < {pick.choice([2, 5])}; i++) v += in[({self._index()} + i) & {MASK}];")
        if pick.random() < 0.3:
            lines.append("barrier(CLK_LOCAL_MEM_FENCE);")
        if pick.random() < 0.3:
            lines.append(f"kept[l] = 0; if ({self._condition()}) kept[l] = v;")
        else:
            lines.append("kept[l] = v;")
        lines.append("barrier(CLK_LOCAL_MEM_FENCE);")
        where = pick.choice(["N - 1 - l", "(l + 1) % N", "(uint)(l + g) % N", "l / 2", "0"])
        lines.append(f"T r = kept[{where}];")
        if pick.random() < 0.6:
            lines.append("barrier(CLK_LOCAL_MEM_FENCE); for (int s = N / 2; s > 0; s /= 2) {")
            lines.append("if (l < s) kept[l] += kept[l + s]; barrier(CLK_LOCAL_MEM_FENCE); }")
            lines.append("r += kept[0];")
        lines.append(f"if ({self._condition()}) r = r * (T)2 + (T)({self._index()});")
        lines.append("out[(get_group_id(1) * get_num_groups(0) + get_group_id(0)) * N + l] = r;")
        return self._around("\n  ".join(lines))

    def _around(self, body: str) -> str:
        return f"""#define N {self.items}
#define T {self.type}
kernel void k(global const T *restrict in, global T *restrict out) {{
  local T kept[N]; int l = get_local_id(1) * {self.local[0]} + get_local_id(0); {self.id_type} g = get_group_id(0);
  {body}
}}"""


class RandomTree(RandomKernel):
    """A kernel whose work-items hand one value over to a tree, each step of which is written out."""

    def _local_size(self) -> tuple[int, int]:
        return self._random.choice([8, 16, 32, 64]), 1

    def _kernel(self) -> str:
        pick, lines = self._random, [f"T v = {self._read()};"]
        for _ in range(pick.randrange(3)):
            lines.append(f"if ({self._condition()}) v += {self._read()}; else v -= (T){pick.randrange(9)};")
        if pick.random() < 0.4:
            lines.append(f"for (int i = 0; i < {pick.choice([2, 5])}; i++) v += in[({self._index()} + i) & {MASK}];")
        lines.append(f"{pick.choice(['', 'barrier(CLK_LOCAL_MEM_FENCE); '])}kept[l] = v; barrier(CLK_LOCAL_MEM_FENCE);")
        combine = pick.choice(["{0} + {1}", "{1} + {0}", "max({0}, {1})", "{0} * {1}"])
        for step in range(1, self.items.bit_length()):
            sum = combine.format("kept[l]", f"kept[l + {self.items >> step}]")
            lines.append(f"if (l < {self.items >> step}) kept[l] = {sum}; barrier(CLK_LOCAL_MEM_FENCE);")
        lines.append(f"T r = {pick.choice(['1', '(T)l', 'v'])}; int at = (get_group_id(1) * get_num_groups(0) + g) * N;")
        for count in sorted(pick.sample([1, 1, 2, 3, self.items // 4, self.items], pick.choice([1, 2]))):
            lines.append(f"if (l < {count}) out[at + l] = kept[{pick.choice(['0', '0', 'l'])}] * r + (T)({self._index()});")
        return self._around("\n  ".join(lines))


STARTS = [0, *(pytest.param(start, marks=pytest.mark.slow) for start in range(40, 640, 100))]


@pytest.mark.share(5)
@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("kind", [RandomKernel, RandomTree])
def test_random_kernels_give_the_same_bits(kind, start, wherever_allowed):
    count, coarse, merged = 8 if not start else 100, 0, 0
    for seed in range(start, start + count):
        kernel = kind(seed)
        ours = kernel.run(kernel.args)
        coarse += ours.is_coarse
        merged += ours.copies(kernel.items) > 1
    assert coarse > count / 2, f"{coarse} of {count} ran several groups as one"
    assert kind is RandomKernel or merged > count / 5, f"in {merged} of {count} a work-item did the work of several"


@pytest.mark.slow
@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("kind", [RandomKernel, RandomTree])
def test_level_full_finds_the_same(kind, start, wherever_allowed):
    """In a third of the launches some of the input was never written."""
    count, coarse, found = 18 if not start else 100, 0, 0
    for seed in range(start, start + count):
        kernel = kind(seed)
        source, data = kernel.args
        holes = np.random.default_rng(seed).random(source.size) < 0.01
        args = [np.ma.array(source, mask=holes) if seed % 3 == 0 else source, data]
        ours = kernel.run(args, checks="full")
        coarse += ours.is_coarse
        found += bool(ours.findings)
    assert coarse > count / 5, f"{coarse} of {count} ran several groups as one"
    assert found, f"something was found in {found} of {count}"
