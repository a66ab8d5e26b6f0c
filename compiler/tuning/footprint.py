"""What the launches of a compiled function touch, counted in TIR: accesses by kind and width, memory, shape of the launch.

Counts are of the whole launch: accesses of one work-item times work-items. A condition is taken to hold, a loop whose length
is not a constant to run once, and a load that the statement or its neighbours have made already to cost nothing (a compiler
keeps it in a register).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..artifact.host_function import BufferRef, Const, HostFunction, Launch
from ..tvm_bridge import read

WIDE = 16
"""Bytes of a full access: 128 bits."""


@dataclass
class Footprint:
    """One launch of a kernel. Accesses are counts; `wide` of them move 128 bits, `divergent` of them stand behind a condition
    that depends on the work-item. local_bytes: of a work-group; private_bytes: arrays of a work-item."""

    kernel: str
    groups: tuple[int, int, int]
    local: tuple[int, int, int]
    texture: int = 0
    buffer: int = 0
    shared: int = 0
    wide: int = 0
    divergent: int = 0
    local_bytes: int = 0
    private_bytes: int = 0

    @property
    def accesses(self) -> int:
        """Of images and buffers."""
        return self.texture + self.buffer

    @property
    def group_items(self) -> int:
        return math.prod(self.local)

    @property
    def items(self) -> int:
        return math.prod(self.groups) * self.group_items


def footprints(host: HostFunction, tir: Any, textures: frozenset[int] = frozenset()) -> list[Footprint]:
    """The launches of `host`, whose kernels are in the module `tir` as tirx.SplitHostDevice left it.

    textures: parameters of `host` that count as textures, though they are buffers here.
    """
    names = {param.name for number, param in enumerate(host.params) if number in textures}
    kernels = {var.name_hint: function for var, function in tir.functions_items() if read.is_kernel(function)}
    return [_footprint(launch, kernels[launch.kernel], names) for launch in host.launches()]


def _footprint(launch: Launch, kernel: Any, textures: set[str]) -> Footprint:
    found = Footprint(launch.kernel, _sizes(launch.groups), _sizes(launch.local))
    pairs = zip(kernel.params, launch.args, strict=True)
    keys = {read.key(param) for param, arg in pairs if isinstance(arg, BufferRef) and arg.name in textures}
    _Counter(found, keys).visit(kernel.body, found.items, False, set())
    return found


def _sizes(extents: tuple[Any, ...]) -> tuple[int, int, int]:
    """Extents of a launch; one that is not a constant counts as 1."""
    x, y, z = (int(extent.value) if isinstance(extent, Const) else 1 for extent in extents)
    return x, y, z


@dataclass
class _Counter:
    """textures: parameters that stand for textures. ids: variables that differ between work-items. roots: the parameter
    behind a declared buffer."""

    found: Footprint
    textures: set[int]
    ids: set[int] = field(default_factory=set)
    roots: dict[int, int] = field(default_factory=dict)

    def visit(self, node: Any, times: int, divergent: bool, seen: set[Any]) -> None:
        """Count below `node`, which runs `times` times in all. seen: loads of this straight piece of code."""
        method = getattr(self, f"_visit_{read.kind(node).lower()}", None)
        if method is not None:
            method(node, times, divergent, seen)
        else:
            self._below(node, times, divergent, seen)

    def _below(self, node: Any, times: int, divergent: bool, seen: set[Any]) -> None:
        for child in read.children(node):
            self.visit(child, times, divergent, seen)

    def _visit_for(self, node: Any, times: int, divergent: bool, seen: set[Any]) -> None:
        extent = int(node.extent) if read.kind(node.extent) == "IntImm" else 1
        self.visit(node.body, times * extent, divergent, set())

    def _visit_attrstmt(self, node: Any, times: int, divergent: bool, seen: set[Any]) -> None:
        var = getattr(node.node, "var", None)
        if str(node.attr_key) == "thread_extent" and str(getattr(node.node, "thread_tag", "")).startswith("threadIdx"):
            self.ids.add(read.key(var))
        self.visit(node.body, times, divergent, seen)

    def _visit_bind(self, node: Any, times: int, divergent: bool, seen: set[Any]) -> None:
        self._name(node, times, divergent, seen)

    def _visit_letstmt(self, node: Any, times: int, divergent: bool, seen: set[Any]) -> None:
        self._name(node, times, divergent, seen)
        self.visit(node.body, times, divergent, seen)

    def _name(self, node: Any, times: int, divergent: bool, seen: set[Any]) -> None:
        if self._varies(node.value):
            self.ids.add(read.key(node.var))
        self.visit(node.value, times, divergent, seen)

    def _visit_ifthenelse(self, node: Any, times: int, divergent: bool, seen: set[Any]) -> None:
        self.visit(node.condition, times, divergent, seen)
        inside = divergent or self._varies(node.condition)
        self.visit(node.then_case, times, inside, set(seen))
        if node.else_case is not None:
            self.visit(node.else_case, times, inside, set(seen))

    def _visit_allocbuffer(self, node: Any, times: int, divergent: bool, seen: set[Any]) -> None:
        info = read.buffer_info(node.buffer)
        self._reserve(info.scope, math.prod(int(size) for size in info.shape) * _bytes(info.dtype))
        self._below(node, times, divergent, seen)

    def _visit_allocate(self, node: Any, times: int, divergent: bool, seen: set[Any]) -> None:
        scope = str(read.pointer_type(node.buffer_var).storage_scope)
        self._reserve(scope, math.prod(int(size) for size in node.extents) * _bytes(str(node.dtype)))
        self.visit(node.body, times, divergent, seen)

    def _reserve(self, scope: str, nbytes: int) -> None:
        if scope.startswith("shared"):
            self.found.local_bytes += nbytes
        else:
            self.found.private_bytes += nbytes

    def _visit_declbuffer(self, node: Any, times: int, divergent: bool, seen: set[Any]) -> None:
        data = getattr(node, "data", None)
        behind = read.data_key(data) if data is not None else None
        if behind is not None:
            self.roots[read.buffer_info(node.buffer).key] = self.roots.get(behind, behind)
        self._below(node, times, divergent, seen)

    def _visit_bufferload(self, node: Any, times: int, divergent: bool, seen: set[Any]) -> None:
        self._below(node, times, divergent, seen)
        info = read.buffer_info(read.loaded_buffer(node))
        element = (info.key, *map(read.structure, node.indices))
        if element not in seen:
            seen.add(element)
            self._count(info, _bytes(read.dtype_of(node)), times, divergent)

    _visit_tensorload = _visit_bufferload

    def _visit_bufferstore(self, node: Any, times: int, divergent: bool, seen: set[Any]) -> None:
        self._below(node, times, divergent, seen)
        self._count(read.buffer_info(node.buffer), _bytes(read.dtype_of(node.value)), times, divergent)

    def _visit_call(self, node: Any, times: int, divergent: bool, seen: set[Any]) -> None:
        name = read.op_name(node)
        if name == "tirx.if_then_else":
            self.visit(node.args[0], times, divergent, seen)
            inside = divergent or self._varies(node.args[0])
            for arg in node.args[1:]:
                self.visit(arg, times, inside, seen)
            return
        self._below(node, times, divergent, seen)
        if name in ("tirx.texture2d_load", "tirx.texture2d_store"):
            bits = int(node.args[4])  # of a texel
            element = tuple(map(read.structure, node.args[:4]))
            if name == "tirx.texture2d_store" or element not in seen:
                seen.add(element)
                self._add("texture", bits // 8, times, divergent)

    def _count(self, info: read.BufferInfo, nbytes: int, times: int, divergent: bool) -> None:
        if info.scope.startswith("shared"):
            self.found.shared += times
        elif info.scope.startswith("global"):
            texture = self.roots.get(info.key, info.key) in self.textures
            self._add("texture" if texture else "buffer", nbytes, times, divergent)

    def _add(self, what: str, nbytes: int, times: int, divergent: bool) -> None:
        setattr(self.found, what, getattr(self.found, what) + times)
        self.found.wide += times if nbytes >= WIDE else 0
        self.found.divergent += times if divergent else 0

    def _varies(self, expr: Any) -> bool:
        return any(read.kind(node) == "Var" and read.key(node) in self.ids for node in read.walk(expr))


def _bytes(dtype: str) -> int:
    name, lanes = read.scalar_dtype(dtype, "an access")
    return np.dtype(name).itemsize * lanes
