"""OpenCLDevice: the Device protocol over one OpenCL device."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl._cl as raw

from ...base.errors import DeviceError, UnsupportedError, ViewTooLargeError  # fmt: skip
from ...base.run_options import RunOptions
from ...base.specs import Argument, BufferSpec, ImageSpec, Storage, View, ViewSpec
from ...device.launch_sizes import require_launch
from ...device.on_chip import NoOnChip, why_not_asked
from ...device.protocol import Kernel, LaunchResult, MLProgram, PoolStats, Watch
from ...findings import Finding, Kind
from ...image import Layout, format_of, layout_under
from ...image.layout import ONE_ROW
from ...mlops.graph import Graph
from ...profiles.ml import why_no_graphs
from . import program as programs
from .errors import device_errors
from .info import device_info
from .memory import OpenCLStorage, OpenCLView, after_write, before_access, check_extents, dense_bytes, make_image
from .pool import BufferPool
from .printed import hold_output


class OpenCLDevice:
    """A real device. One in-order queue with profiling; calls return when their work is done.

    wrong: a sentence for each known answer that the device does not give.
    """

    def __init__(self, device: cl.Device, options: RunOptions, wrong: tuple[str, ...] = ()):
        self.options = options
        self.handle = device
        self.info = device_info(device, wrong)
        with device_errors(f"opening {self.info.name}"):
            self.context = cl.Context([device])
            self.queue = cl.CommandQueue(self.context, properties=cl.command_queue_properties.PROFILING_ENABLE)
        self._pool = BufferPool(self.context, int(self.info.limits.get("MAX_MEM_ALLOC_SIZE", 0)))
        self._warnings: dict[str, Finding] = {one: Finding(Kind.UNFIT_DEVICE, self._unfit(one)) for one in wrong}
        self._told: set[str] = set()
        self.on_chip = NoOnChip(why_not_asked(self.info.name))

    def _unfit(self, wrong: str) -> str:
        return f"{self.info.name} {wrong}: believe none of its results, use a device that passes (adreno-sim devices)"

    # --- memory ---------------------------------------------------------------------------------------------

    def allocate(self, nbytes: int) -> OpenCLStorage:
        most = self.info.limits.get("MAX_MEM_ALLOC_SIZE", nbytes)
        if not 0 < nbytes <= most:
            raise DeviceError("CL_INVALID_BUFFER_SIZE", f"{nbytes} bytes: expected 1 to MAX_MEM_ALLOC_SIZE = {most}")
        return OpenCLStorage(nbytes, self._pool.take(nbytes))

    def free(self, storage: Storage) -> None:
        owned = _storage(storage)
        if not owned.live:
            raise DeviceError("CL_INVALID_MEM_OBJECT", "the storage was freed before")
        owned.live = False
        self._pool.give(owned.buffer)

    def view_nbytes(self, spec: ViewSpec) -> int:
        return spec.nbytes if isinstance(spec, BufferSpec) else self._layout(spec).nbytes

    def view(self, storage: Storage, spec: ViewSpec, offset: int = 0) -> OpenCLView:
        owned = _storage(storage)
        needed = self.view_nbytes(spec)
        if offset < 0 or offset + needed > owned.nbytes:
            if isinstance(spec, BufferSpec):
                message = f"buffer of {needed} bytes at offset {offset}: the storage has {owned.nbytes} bytes"
                raise ViewTooLargeError("CL_INVALID_VALUE", message)
            raise ViewTooLargeError(
                "CL_INVALID_IMAGE_SIZE", f"{spec} at offset {offset}: needs {needed} bytes, the storage has {owned.nbytes}"
            )
        if isinstance(spec, BufferSpec):
            memory = owned.buffer if offset == 0 else self._part(owned, offset, needed)
            return OpenCLView(self, spec, owned, offset, needed, memory)
        return self._image(owned, spec, offset, needed)

    def _part(self, storage: OpenCLStorage, offset: int, nbytes: int) -> Any:
        with device_errors(f"a view of {nbytes} bytes at offset {offset}"):
            return storage.buffer.get_sub_region(offset, max(nbytes, 1))

    def _image(self, storage: OpenCLStorage, spec: ImageSpec, offset: int, nbytes: int) -> OpenCLView:
        check_extents(spec, self.info.limits)
        texels = format_of(spec.order, spec.channel_type)
        if spec.kind in self.info.image_views:
            buffer = storage.buffer if offset == 0 else self._part(storage, offset, nbytes)
            memory = make_image(self.context, spec, buffer, *self._pitches(spec))
            return OpenCLView(self, spec, storage, offset, nbytes, memory, texels)
        self._warn_separate(spec.kind)
        memory = make_image(self.context, spec, None, 0, 0)
        return OpenCLView(self, spec, storage, offset, dense_bytes(spec), memory, texels, separate=True)

    def _pitches(self, spec: ImageSpec) -> tuple[int, int]:
        """Row and slice pitch for clCreateImage of an image over a buffer; 0 where it must be 0."""
        if spec.kind in ONE_ROW:
            return 0, 0
        layout = self._layout(spec)
        return layout.row_pitch, 0 if spec.kind == "image2d" else layout.slice_pitch

    def _layout(self, spec: ImageSpec) -> Layout:
        """Where texels are in a view's storage: under a separate image, densely."""
        rule = self.info.pitch_rule if spec.kind in self.info.image_views else None
        return layout_under(spec, rule, int(self.info.limits.get("IMAGE_PITCH_ALIGNMENT") or 0))

    def _warn_separate(self, kind: str) -> None:
        if kind not in self._told:
            self._told.add(kind)
            message = f"{self.info.name} makes no {kind} over a buffer: such views are separate images, kept coherent by copies"
            self._warnings[kind] = Finding(Kind.NO_IMAGE_FROM_BUFFER, message)

    # --- data -----------------------------------------------------------------------------------------------

    def write(self, view: View, array: np.ndarray) -> None:
        self._write(_view(view), array)

    def _write(self, target: OpenCLView, array: np.ndarray) -> None:
        _check_elements("write", array.size, array.dtype, target)
        if array.size == 0:
            return
        dense = np.ascontiguousarray(array).reshape(target.shape)
        with device_errors(f"writing {dense.nbytes} bytes"):
            before_access(target)
            if isinstance(target.spec, BufferSpec):
                cl.enqueue_copy(self.queue, target.memory, dense)
            else:
                raw._enqueue_write_image(self.queue, target.memory, (0, 0, 0), target.region, dense)
            after_write(target)

    def read(self, view: View) -> np.ndarray:
        return self._read(_view(view))

    def _read(self, source: OpenCLView) -> np.ndarray:
        result = np.empty(source.shape, source.dtype)
        if result.size:
            with device_errors(f"reading {result.nbytes} bytes"):
                before_access(source)
                if isinstance(source.spec, BufferSpec):
                    cl.enqueue_copy(self.queue, result, source.memory)
                else:
                    raw._enqueue_read_image(self.queue, source.memory, (0, 0, 0), source.region, result)
        return result

    def copy(self, source: View, target: View) -> None:
        from_view, to_view = _view(source), _view(target)
        _check_elements("copy", math.prod(from_view.shape), from_view.dtype, to_view)
        self._write(to_view, self._read(from_view))

    def discard(self, view: View) -> None:
        """Nothing: a driver does not check what is read."""

    # --- kernels --------------------------------------------------------------------------------------------

    def build(self, source: str, options: str = "") -> programs.OpenCLProgram:
        return programs.build(self.context, source, options)

    def launch(
        self,
        kernel: Kernel,
        global_size: Sequence[int],
        local_size: Sequence[int] | None,
        args: Sequence[Argument],
        *,
        watch: Watch | None = None,
        offset: Sequence[int] | None = None,
    ) -> LaunchResult:
        if not isinstance(kernel, programs.OpenCLKernel):
            raise DeviceError("CL_INVALID_KERNEL", f"{kernel!r} was not built by this device")
        require_launch(kernel.name, global_size, local_size, args, offset)
        bound = programs.bind(self.context, kernel, args)
        self._check_sizes(kernel.name, global_size, local_size)
        with device_errors(f"launch of {kernel.name} {tuple(global_size)} / {tuple(local_size) if local_size else None}"):
            for arg in args:
                if isinstance(arg, OpenCLView):
                    before_access(arg)
            for index, value in enumerate(bound):
                kernel.handle.set_arg(index, value)
            local = tuple(local_size) if local_size is not None else None
            start = tuple(offset) if offset is not None else None
            with hold_output() as held:
                event = cl.enqueue_nd_range_kernel(self.queue, kernel.handle, tuple(global_size), local, start)
                event.wait()
            for index, arg in enumerate(args):
                if isinstance(arg, OpenCLView) and kernel.writes(index):
                    after_write(arg)
        return LaunchResult(device_seconds=_seconds(event), printed=held.text)

    def _check_sizes(self, name: str, global_size: Sequence[int], local_size: Sequence[int] | None) -> None:
        what = f"launch of {name}, {tuple(global_size)} work-items"
        if any(size < 1 for size in global_size):
            raise DeviceError("CL_INVALID_GLOBAL_WORK_SIZE", f"{what}: expected 1 or more in each dimension")
        if local_size is None:
            return
        what += f" in groups of {tuple(local_size)}"
        if len(local_size) != len(global_size) or any(size < 1 for size in local_size):
            raise DeviceError("CL_INVALID_WORK_GROUP_SIZE", f"{what}: expected as many dimensions, 1 or more in each")
        each = self.info.limits.get("MAX_WORK_ITEM_SIZES", ())
        if any(size > most for size, most in zip(local_size, each, strict=False)):
            raise DeviceError("CL_INVALID_WORK_ITEM_SIZE", f"{what}: MAX_WORK_ITEM_SIZES = {each}")
        most = int(self.info.limits.get("MAX_WORK_GROUP_SIZE", 0))
        if math.prod(local_size) > most:
            raise DeviceError("CL_INVALID_WORK_GROUP_SIZE", f"{what}: MAX_WORK_GROUP_SIZE = {most}")

    def build_graph(
        self, graph: Graph, constants: Mapping[str, np.ndarray], name: str = "", given_memory: bool = False
    ) -> MLProgram:
        """UnsupportedError: graphs of OpenCL ML run on the simulated device, and under TVM's own runtime on a phone."""
        raise UnsupportedError(f"unsupported: {why_no_graphs(self.info.name, self.info.extensions)}")

    def finish(self) -> None:
        with device_errors("finish"):
            self.queue.finish()

    def pool_stats(self) -> PoolStats:
        return self._pool.stats()

    def take_warnings(self) -> list[Finding]:
        taken = list(self._warnings.values())
        self._warnings.clear()
        return taken


def _check_elements(what: str, count: int, dtype: np.dtype, target: OpenCLView) -> None:
    room = math.prod(target.shape)
    if count != room or dtype != target.dtype:
        message = f"{what} of {count} {dtype} elements to a view of {room} {target.dtype} elements"
        raise DeviceError("CL_INVALID_VALUE", message)


def _seconds(event: cl.Event) -> float | None:
    try:
        return (event.profile.end - event.profile.start) * 1e-9
    except cl.Error:
        return None


def _storage(storage: Storage) -> OpenCLStorage:
    if not isinstance(storage, OpenCLStorage):
        raise DeviceError("CL_INVALID_MEM_OBJECT", f"{storage!r} is not a storage of this device")
    return storage


def _view(view: View) -> OpenCLView:
    if not isinstance(view, OpenCLView) or not view.live or not view.storage.live:
        raise DeviceError("CL_INVALID_MEM_OBJECT", "the view is not of this device, was released, or its storage was freed")
    return view
