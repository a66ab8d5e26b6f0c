"""Runs a program of NIR on this machine, work-item by work-item: a judge of the translation that knows nothing of kernel IR.

Memory is one run of bytes for each space. Work-items of a group take turns at barriers; those of a wave meet at operations of
sub-groups.
"""

from __future__ import annotations

import itertools
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from nir_operations import OPERATIONS, Scalar, convert, of_real, real, signed, whole

Part = tuple[Scalar, ...]
WAVE = 64


@dataclass
class Machine:
    """What work-items share. textures, images: arrays (depth or layers, height, width, 4), read and written ones apart. samplers:
    whether coordinates are normalized, and what lies outside: "clamp" (zeros) or "clamp_to_edge"."""

    uniforms: bytearray
    memory: bytearray
    groups: tuple[int, int, int]
    textures: list[np.ndarray] = field(default_factory=list)
    images: list[np.ndarray] = field(default_factory=list)
    samplers: list[tuple[bool, str]] = field(default_factory=list)


def run(program: dict[str, Any], machine: Machine, local_bytes: int) -> None:
    """Runs all groups."""
    blocks = {part[1]: number for number, part in enumerate(program["instructions"]) if part[0] == "start"}
    for group in itertools.product(*(range(count) for count in reversed(machine.groups))):
        local = bytearray(local_bytes)
        items = [
            _Item(program, machine, blocks, local, group[::-1], place[::-1], number)
            for number, place in enumerate(itertools.product(*(range(size) for size in reversed(program["group"]))))
        ]
        _run_group(items)


def _run_group(items: list[_Item]) -> None:
    """All run up to a meeting, then hear what came of it."""
    runs = [item.run() for item in items]
    said: list[Any] = [None] * len(runs)
    while True:
        asked: dict[int, Any] = {}
        for number, one in enumerate(runs):
            try:
                asked[number] = one.send(said[number])
            except StopIteration:
                continue
        if not asked:
            return
        for _, members in itertools.groupby(asked, key=lambda number: number // WAVE):
            wave = list(members)
            answers = _meet([asked[number] for number in wave])
            for number, answer in zip(wave, answers, strict=True):
                said[number] = answer


def _meet(asked: list[tuple[Any, ...]]) -> list[Part | None]:
    """What each work-item of a wave hears. All of them ask the same, or for nothing at a barrier."""
    name, indices = asked[0][0], asked[0][2]
    if name == "barrier":
        return [None] * len(asked)
    values = [one[1][0][0] for one in asked]
    if name in ("vote_any", "vote_all"):
        held = (any if name == "vote_any" else all)(value[1] for value in values)
        return [((1, int(held)),)] * len(asked)
    if name == "read_invocation":
        return [(values[one[1][1][0][1]],) for one in asked]
    if name.startswith("shuffle"):
        move = {"shuffle": lambda at, by: by, "shuffle_xor": lambda at, by: at ^ by, "shuffle_up": lambda at, by: at - by,
                "shuffle_down": lambda at, by: at + by}[name]  # fmt: skip
        return [(values[move(at, one[1][1][0][1]) % len(values)],) for at, one in enumerate(asked)]
    combine = OPERATIONS[indices["REDUCTION_OP"].removeprefix("op_")]
    sums = list(itertools.accumulate(values, combine))
    return [(one,) for one in (sums if name == "inclusive_scan" else [sums[-1]] * len(values))]


class _Item:
    def __init__(self, program, machine, blocks, local, group, place, number):
        self.program, self.machine, self.blocks, self.local = program, machine, blocks, local
        self.group, self.place, self.number = group, place, number
        self.scratch = bytearray(program["scratch_bytes"])
        self.variables = [[(bits, 0)] * max(1, count) for bits, count in program["variables"]]
        self.values: dict[int, Part] = {}

    def run(self) -> Generator[Any, Any, None]:
        at, instructions = 0, self.program["instructions"]
        while True:
            kind, *rest = instructions[at]
            if kind in ("go", "go_if"):
                target = rest[0] if kind == "go" else rest[1 if self._one(rest[0])[1] else 2]
                if target < 0:
                    return
                at = self.blocks[target]
            elif kind == "intrinsic" and (rest[0] == "barrier" or rest[0] in _MEETINGS):
                if rest[0] != "barrier" or rest[5]["EXECUTION_SCOPE"] != "scope_none":
                    self.values[at] = yield rest[0], [self.values[number] for number in rest[1]], rest[5]
            else:
                found = getattr(self, f"_{kind}")(*rest)
                if found is not None:
                    self.values[at] = found
            at += 1

    def _one(self, number: int) -> Scalar:
        (value,) = self.values[number]
        return value

    def _start(self, block: int) -> None:
        """A block begins."""

    def _const(self, value: int, bits: int) -> Part:
        return ((bits, value),)

    def _undef(self, bits: int) -> Part:
        return ((bits, 0),)

    def _part(self, vector: int, number: int) -> Part:
        return (self.values[vector][number],)

    def _alu(self, name: str, operands: list[int]) -> Part:
        values = [self._one(number) for number in operands]
        if name.startswith("vec"):
            return tuple(values)
        converted = convert(name, values[0])
        return (OPERATIONS[name](*values) if converted is None else converted,)

    def _get(self, number: int, index: int) -> Part:
        held = self.variables[number]
        at = 0 if index < 0 else self._one(index)[1]
        return (held[at] if at < len(held) else (held[0][0], 0),)

    def _put(self, number: int, index: int, value: int) -> None:
        at = 0 if index < 0 else self._one(index)[1]
        if at < len(self.variables[number]):
            assert self.variables[number][at][0] == self._one(value)[0]
            self.variables[number][at] = self._one(value)

    def _texture(self, name, operands, dimension, coordinates, array, number, sampler, type, parts) -> Part:
        picture, given = self.machine.textures[number], dict(map(tuple, operands))
        if name == "txs":
            return self._extents(picture, dimension, array, parts)
        assert len(self.values[given["coord"]]) == coordinates
        if name == "txf":
            places, edge = [signed(part) for part in self.values[given["coord"]]], "clamp"
        else:
            places, edge = self._sampled(picture, given["coord"], dimension, array, sampler)
        return self._texel(picture, places, dimension, array, type, edge)

    def _extents(self, picture: np.ndarray, dimension: str, array: int, parts: int) -> Part:
        depth, height, width, _ = picture.shape
        sizes = [width, height, depth][: {"1D": 1, "BUF": 1, "2D": 2, "3D": 3}[dimension]] + [depth] * array
        return tuple((32, size) for size in sizes[:parts])

    def _sampled(self, picture, place, dimension, array, sampler) -> tuple[list[int], str]:
        """The texel nearest to coordinates: the one that they lie in; a layer is the nearest whole number."""
        normalized, edge = self.machine.samplers[sampler]
        found = [float(real(part)) for part in self.values[place]]
        layer = [min(max(round(found.pop()), 0), picture.shape[0] - 1)] if array else []
        sizes = picture.shape[2::-1]
        scaled = [np.float32(one) * np.float32(size if normalized else 1) for one, size in zip(found, sizes, strict=False)]
        return [int(np.floor(one)) for one in scaled] + layer, edge

    def _texel(self, picture: np.ndarray, places: list[int], dimension: str, array: int, type: str, edge: str = "clamp") -> Part:
        z, y, x = self._order(places, dimension, array)
        depth, height, width, _ = picture.shape
        if edge == "clamp_to_edge":
            z, y, x = (min(max(one, 0), size - 1) for one, size in zip((z, y, x), picture.shape, strict=False))
        inside = 0 <= z < depth and 0 <= y < height and 0 <= x < width
        texel = picture[z, y, x] if inside else np.zeros(4, picture.dtype)
        bits = int(type[-2:])
        return tuple(of_real(bits, part) if type.startswith("float") else whole(bits, part) for part in texel)

    @staticmethod
    def _order(places: list[int], dimension: str, array: int) -> tuple[int, int, int]:
        """Coordinates as (z, y, x); the layer of an array is z."""
        layer = places[-1] if array else 0
        x, y, z = (*places[: {"1D": 1, "BUF": 1, "2D": 2, "3D": 3}[dimension]], 0, 0)[:3]
        return (layer if array else z), y, x

    def _intrinsic(
        self, name: str, operands: list[int], parts: int, bits: int, width: int, indices: dict[str, Any]
    ) -> Part | None:
        if name in ("load_local_invocation_id", "load_workgroup_id", "load_num_workgroups"):
            found = {"load_local": self.place, "load_workg": self.group, "load_num_w": self.machine.groups}[name[:10]]
            return tuple((32, part) for part in found)
        if name == "load_local_invocation_index":
            return ((32, self.number),)
        if name == "load_subgroup_invocation":
            return ((32, self.number % WAVE),)
        if name == "load_ubo":
            return self._read(self.machine.uniforms, self._one(operands[1])[1], parts, bits)
        if name == "load_constant":
            return self._read(bytearray.fromhex(self.program["constant_data"]), self._one(operands[0])[1], parts, bits)
        if name == "image_store":
            z, y, x = self._order([signed(part) for part in self.values[operands[1]]], indices["IMAGE_DIM"][4:], 0)
            z = signed(self.values[operands[1]][2 if "2D" in indices["IMAGE_DIM"] else 1]) if indices["IMAGE_ARRAY"] else z
            read = (
                real
                if "float" in indices["SRC_TYPE"]
                else signed
                if indices["SRC_TYPE"] == "type_int32"
                else lambda part: part[1]
            )
            self.machine.images[self._one(operands[0])[1]][z, y, x] = [read(part) for part in self.values[operands[3]]]
            return None
        if name == "image_load":
            places = [signed(part) for part in self.values[operands[1]]]
            dimension = indices["IMAGE_DIM"][4:]
            count = {"1D": 1, "BUF": 1, "2D": 2, "3D": 3}[dimension] + indices["IMAGE_ARRAY"]
            picture = self.machine.images[self._one(operands[0])[1]]
            return self._texel(
                picture, places[:count], dimension, indices["IMAGE_ARRAY"], indices["DEST_TYPE"].removeprefix("type_")
            )
        if name == "image_size":
            picture = self.machine.images[self._one(operands[0])[1]]
            return self._extents(picture, indices["IMAGE_DIM"][4:], indices["IMAGE_ARRAY"], parts)
        what, _, space = name.partition("_")
        if what == "load":
            return self._read(self._bytes(space), self._place(name, operands), parts, bits)
        if what == "store":
            self._write(self._bytes(space), self._place(name, operands[1:]), self.values[operands[0]])
            return None
        return self._change(name, operands, bits, indices)

    def _change(self, name: str, operands: list[int], bits: int, indices: dict[str, Any]) -> Part:
        memory, place = self._bytes(name.partition("_")[0]), self._one(operands[0])[1]
        (old,) = before = self._read(memory, place, 1, bits)
        given = [self._one(number) for number in operands[1:]]
        operation = indices["ATOMIC_OP"].removeprefix("atomic_op_")
        if operation == "cmpxchg":
            new = given[1] if old == given[0] else old
        else:
            new = given[0] if operation == "xchg" else OPERATIONS[operation](old, given[0])
        self._write(memory, place, (new,))
        return before

    def _place(self, name: str, operands: list[int]) -> int:
        place = self._one(operands[0])[1]
        return place + 4 * signed(self._one(operands[1])) if name.endswith("_ir3") else place

    def _bytes(self, space: str) -> bytearray:
        return {"global": self.machine.memory, "shared": self.local, "scratch": self.scratch}[space.removesuffix("_ir3")]

    def _read(self, memory: bytearray, place: int, parts: int, bits: int) -> Part:
        size = bits // 8
        assert 0 <= place <= len(memory) - parts * size, (place, len(memory))
        return tuple(
            (bits, int.from_bytes(memory[place + number * size : place + (number + 1) * size], "little"))
            for number in range(parts)
        )

    def _write(self, memory: bytearray, place: int, values: Part) -> None:
        for bits, value in values:
            assert 0 <= place <= len(memory) - bits // 8, (place, len(memory))
            memory[place : place + bits // 8] = int(value).to_bytes(bits // 8, "little")
            place += bits // 8


_MEETINGS = frozenset(
    [
        "reduce",
        "inclusive_scan",
        "vote_any",
        "vote_all",
        "read_invocation",
        "shuffle",
        "shuffle_xor",
        "shuffle_up",
        "shuffle_down",
    ]
)
