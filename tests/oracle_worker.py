"""The process that holds one OpenCL driver for `oracle.Oracle`: answers pickled requests on the socket named in argv."""

from __future__ import annotations

import os
import sys
import warnings
from functools import cache
from multiprocessing.connection import Connection

import numpy as np
import pyopencl as cl
import pyopencl._cl as raw  # the public enqueue_copy refuses one-dimensional images
from oracle import Buffer, Image, Local, OracleError, OracleInfo, Part, Run, Sampler, Scalar

ADDRESSING = {
    "none": cl.addressing_mode.NONE,
    "clamp_to_edge": cl.addressing_mode.CLAMP_TO_EDGE,
    "clamp": cl.addressing_mode.CLAMP,
    "repeat": cl.addressing_mode.REPEAT,
    "mirrored_repeat": cl.addressing_mode.MIRRORED_REPEAT,
}
FILTER = {"nearest": cl.filter_mode.NEAREST, "linear": cl.filter_mode.LINEAR}
KINDS = {
    "image1d": cl.mem_object_type.IMAGE1D,
    "image1d_array": cl.mem_object_type.IMAGE1D_ARRAY,
    "image1d_buffer": cl.mem_object_type.IMAGE1D_BUFFER,
    "image2d": cl.mem_object_type.IMAGE2D,
    "image2d_array": cl.mem_object_type.IMAGE2D_ARRAY,
    "image3d": cl.mem_object_type.IMAGE3D,
}


@cache
def context() -> cl.Context:
    return cl.Context([cl.get_platforms()[0].get_devices()[0]])


@cache
def queue() -> cl.CommandQueue:
    return cl.CommandQueue(context())


@cache
def build(source: str, options: str) -> cl.Program:
    return cl.Program(context(), source).build(options.split(), cache_dir=None)


def region(image: Image) -> tuple[int, int, int]:
    """The copied extent in clEnqueueWriteImage's order: layers of a 1D array are its second axis."""
    layers, height, width, _ = image.array.shape
    return (width, layers, 1) if image.kind == "image1d_array" else (width, height, layers)


class OnDevice:
    """One argument on the device: what the kernel gets, and how to read it back (None where it is no output).

    whole: the buffers that parts share, by the identity of their array.
    """

    def __init__(self, arg, whole):
        self.arg, self.whole = arg, whole
        self.value = getattr(self, "_" + type(arg).__name__.lower())(arg)

    def _buffer(self, arg: Buffer | Part):
        data = np.ascontiguousarray(arg.array)
        memory = cl.Buffer(context(), cl.mem_flags.READ_WRITE, max(1, data.nbytes))
        if data.nbytes:
            cl.enqueue_copy(queue(), memory, data)
        return memory

    def _part(self, arg: Part):
        memory = self.whole.get(id(arg.array)) or self.whole.setdefault(id(arg.array), self._buffer(arg))
        return memory.get_sub_region(arg.first * arg.array.itemsize, arg.count * arg.array.itemsize, cl.mem_flags.READ_WRITE)

    def _image(self, arg: Image):
        layers, height, width, _ = arg.array.shape
        descriptor = cl.ImageDescriptor()
        descriptor.image_type = KINDS[arg.kind]
        descriptor.shape = (width, 0 if arg.kind.startswith("image1d") else height, layers if arg.kind == "image3d" else 0)
        descriptor.array_size = layers if arg.kind.endswith("array") else 0
        descriptor.pitches = (0, 0)
        descriptor.num_mip_levels = descriptor.num_samples = 0
        descriptor.buffer = None
        if arg.kind == "image1d_buffer":
            descriptor.buffer = self.backing = cl.Buffer(context(), cl.mem_flags.READ_WRITE, arg.array.nbytes)
        form = cl.ImageFormat(getattr(cl.channel_order, arg.order), getattr(cl.channel_type, arg.channel_type))
        memory = cl.Image(context(), cl.mem_flags.READ_WRITE, form, desc=descriptor)
        raw._enqueue_write_image(queue(), memory, (0, 0, 0), region(arg), np.ascontiguousarray(arg.array))
        return memory

    def _local(self, arg: Local):
        return cl.LocalMemory(arg.nbytes)

    def _scalar(self, arg: Scalar):
        value = np.asarray(arg.value)
        return np.append(value, value[:1] * 0) if value.shape == (3,) else np.ascontiguousarray(value)

    def _sampler(self, arg: Sampler):
        return cl.Sampler(context(), arg.normalized, ADDRESSING[arg.addressing], FILTER[arg.filter])

    def read(self) -> np.ndarray | None:
        if not getattr(self.arg, "output", False):
            return None
        result = np.empty_like(self.arg.array, order="C")
        if isinstance(self.arg, Part):
            cl.enqueue_copy(queue(), result, self.whole[id(self.arg.array)])
        elif isinstance(self.arg, Image):
            raw._enqueue_read_image(queue(), self.value, (0, 0, 0), region(self.arg), result)
        elif result.nbytes:
            cl.enqueue_copy(queue(), result, self.value)
        return result


def run(request: Run) -> list[np.ndarray] | OracleError:
    try:
        kernel = cl.Kernel(build(request.source, request.options), request.kernel)
        whole: dict[int, cl.Buffer] = {}
        held = [OnDevice(arg, whole) for arg in request.args]
        for index, one in enumerate(held):
            kernel.set_arg(index, one.value)
        cl.enqueue_nd_range_kernel(queue(), kernel, request.global_size, request.local_size)
        queue().finish()
        return [array for one in held if (array := one.read()) is not None]
    except (cl.Error, ValueError, TypeError) as error:
        return OracleError(f"{type(error).__name__}: {error}")


def info() -> OracleInfo | OracleError:
    try:
        device = context().devices[0]
    except (cl.Error, IndexError) as error:
        return OracleError(f"no OpenCL device: {error}")
    return OracleInfo(device.name, device.version, frozenset(device.extensions.split()), bool(device.image_support))


def serve(pipe: Connection) -> None:
    os.environ["PYOPENCL_HOME"] = os.environ["OCL_ICD_VENDORS"]  # the loader in pyopencl's wheel finds PoCL there as well
    warnings.simplefilter("ignore")  # build logs without errors
    while True:
        try:
            message = pipe.recv()
        except (EOFError, ConnectionResetError):
            return
        pipe.send(info() if message == "info" else [run(request) for request in message])


if __name__ == "__main__":
    serve(Connection(int(sys.argv[1])))
