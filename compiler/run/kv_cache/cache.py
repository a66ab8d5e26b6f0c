"""A paged KV cache on a device: its pages and arrays are tensors there, its kernels are PrimFuncs of the module."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ....base.errors import AdrenoSimError, UnsupportedError
from ....base.specs import TensorSpec
from ..runtime import Runtime
from ..values import HostObject, StorageHandle, Tensor, ViewHandle, allocate_tensor
from .attention import Operands, Role, attention_calls
from .batch import Batch, begin_forward
from .config import CacheConfig
from .page_watch import PageWatch
from .table import PageTable


class PagedKVCache(HostObject):
    """What `vm.builtin.paged_attention_kv_cache_create` makes. Its methods are those of TVM's object."""

    def __init__(self, config: CacheConfig, machine: Runtime):
        super().__init__()
        self.config, self._machine = config, machine
        self.table = PageTable(config.page_size, config.pages, config.sliding, self._copy_page)
        self.watch = PageWatch(config, self.table, machine.state_finding)
        self._pages = [self._allocate(config.layer_shape, config.dtype, f"pages_{layer}") for layer in config.layers]
        self._workspaces = {name: self._allocate(spec.shape, spec.dtype, name) for name, spec in config.workspaces().items()}
        self._batch: Batch | None = None
        self._uploaded: Batch | None = None
        self._arrays: list[Tensor] = []

    def drop(self) -> None:
        self._forget_batch()
        for tensor in (*self._pages, *self._workspaces.values()):
            tensor.release()

    def clear(self) -> None:
        self.table.clear()
        self.watch.clear()
        self._forget_batch()

    def add_sequence(self, number: int) -> None:
        self.table.add(number)
        self.watch.add(number)

    def remove_sequence(self, number: int) -> None:
        self.table.remove(number)
        self.watch.remove(number)

    def fork_sequence(self, parent: int, child: int, position: int = -1) -> None:
        self.table.fork(parent, child, position)
        self.watch.fork(parent, child, position)

    def pop(self, number: int, count: int) -> None:
        self.table.pop(number, count)
        self.watch.pop(number, count)

    def enable_window(self, number: int, window: int, sink: int) -> None:
        self.table.enable_window(number, window, sink)
        self.watch.enable_window(number, window, sink)

    def begin_forward(self, numbers: tuple[int, ...], lengths: tuple[int, ...], tree: tuple[int, ...] | None = None) -> None:
        """Make room for new tokens, and put the arrays for them on the device."""
        if tree is not None:
            raise UnsupportedError("unsupported: a forward over a tree of tokens (token_tree_parent_ptr)")
        if len(numbers) > self.config.sequences or sum(lengths) > self.config.chunk:
            raise AdrenoSimError(
                f"KV cache: a forward of {len(numbers)} sequences and {sum(lengths)} tokens: it was created for at most "
                f"{self.config.sequences} and {self.config.chunk}"
            )
        batch = begin_forward(self.table, numbers, lengths)
        self.watch.begin(batch)
        self._forget_batch()
        self._batch = batch

    def end_forward(self) -> None:
        self.watch.end()

    def is_empty(self) -> int:
        return int(not self.table.sequences and len(self.table.free) == self.table.pages)

    def count_free_pages(self) -> int:
        return len(self.table.free)

    def count_positions(self) -> int:
        return sum(sequence.length for sequence in self.table.sequences.values())

    def query_positions(self) -> Tensor:
        """The positions of the new tokens in their sequences, int32."""
        tensor = self._upload(self._require_batch().positions)
        self._arrays.append(tensor)
        return tensor

    def attend(self, layer: int, scale: float, qkv: Tensor, out: Tensor) -> None:
        """Attention of the new tokens over their sequences, whose keys and values are written to the pages.

        qkv: [T, heads + 2 * kv_heads, dim]; out: [T, heads, dim], where T is at least the number of new tokens.
        """
        batch, config = self._require_batch(), self.config
        if layer not in config.layers:
            raise AdrenoSimError(
                f"KV cache: attention of layer {layer}: it has layers {config.layers.start} to {config.layers.stop - 1}"
            )
        tokens = int(batch.begins[-1])
        both = config.heads + 2 * config.kv_heads
        for name, tensor, heads in (("qkv", qkv, both), ("the result", out, config.heads)):
            if tensor.dtype != config.dtype or tensor.shape[1:] != (heads, config.dim) or tensor.shape[0] < tokens:
                raise AdrenoSimError(
                    f"KV cache: {name} of layer {layer} is {tensor.dtype} {list(tensor.shape)}: expected {config.dtype} "
                    f"[{tokens}, {heads}, {config.dim}], for the {tokens} tokens of begin_forward"
                )
        number = layer - config.layers.start
        views = {name: _view(whole, (tokens, *whole.shape[1:])) for name, whole in self._workspaces.items()}
        views["qkv"], views["out"] = (_view(whole, (tokens, *whole.shape[1:])) for whole in (qkv, out))
        try:
            operands = Operands(pages=self._pages[number], **views)
            for role, args in attention_calls(self._on_device(batch), config.rotation, scale, operands):
                if role in ("decode", "prefill"):
                    self.watch.read(number)
                if role == "append":
                    self.watch.append(number)
                self._run(role, args)
        finally:
            for view in views.values():
                view.release()

    def debug_get_kv(self, number: int, start: int, end: int, keys: Tensor, values: Tensor) -> None:
        """Write positions [start, end) of a sequence to `keys` and `values`: [layers, positions, kv_heads, dim]."""
        sequence, size = self.table.sequence(number), self.config.page_size
        if not 0 <= start < end <= sequence.length:
            raise AdrenoSimError(f"KV cache: positions {start} to {end} of sequence {number}: it has {sequence.length}")
        places = [(block, block.index_of(i)) for block in sequence.trace() for i in range(block.length)]
        where = self._upload(np.array([b.pages[i // size] * size + i % size for b, i in places[start:end]], np.int32))
        try:
            for layer, pages in enumerate(self._pages):
                self._machine.run_function(self.config.debug, [pages, where, keys, values, layer])
        finally:
            where.release()

    def _copy_page(self, source: int, target: int, length: int) -> None:
        for pages in self._pages:
            self._run("copy", (pages, source, target, length))
        self.watch.copy(source, target, length)

    def _run(self, role: Role, args: tuple[Any, ...]) -> None:
        self._machine.run_function(self.config.functions[role], [*args])

    def _require_batch(self) -> Batch:
        if self._batch is None:
            raise AdrenoSimError("KV cache: no forward has begun: call vm.builtin.kv_state_begin_forward before the model")
        return self._batch

    def _on_device(self, batch: Batch) -> Batch:
        """The batch with its arrays on the device, where they are put at the first attention."""
        if self._uploaded is None:
            depths = tuple(
                replace(depth, **{name: self._kept(getattr(depth, name)) for name in _DEPTH_ARRAYS}) for depth in batch.depths
            )
            self._uploaded = replace(batch, depths=depths, **{name: self._kept(getattr(batch, name)) for name in _BATCH_ARRAYS})
        return self._uploaded

    def _kept(self, array: np.ndarray) -> Any:
        tensor = self._upload(array)
        self._arrays.append(tensor)
        return tensor

    def _forget_batch(self) -> None:
        for tensor in self._arrays:
            tensor.release()
        self._arrays.clear()
        self._batch = self._uploaded = None

    def _upload(self, array: np.ndarray) -> Tensor:
        tensor = self._allocate(array.shape, array.dtype.name, "")
        tensor.write(array)
        return tensor

    def _allocate(self, shape: tuple[int, ...], dtype: str, name: str) -> Tensor:
        return allocate_tensor(self._machine.device, shape, dtype, "global", name)


_DEPTH_ARRAYS = ("queries", "pages_begin", "pages", "lengths", "starts")
_BATCH_ARRAYS = ("begins", "positions", "targets", "starts")


def _view(whole: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The beginning of a tensor under a shorter shape (a new holder)."""
    owner: StorageHandle = whole.handle.owner
    spec = TensorSpec(shape, whole.dtype, whole.scope)
    return Tensor(shape, whole.dtype, whole.scope, ViewHandle(owner, spec, whole.handle.start, whole.name), whole.name)
