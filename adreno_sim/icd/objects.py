"""The server's memories and programs, by the numbers that the shim gave them."""

from __future__ import annotations

import contextlib
import struct
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..backends.sim.device import SimDevice
from ..backends.sim.group_limits import find_largest_group, sure_group
from ..backends.sim.limits import check_alignment
from ..backends.sim.program import SimKernel, SimProgram
from ..base.errors import DeviceError, UnsupportedError
from ..base.specs import BufferSpec, ImageSpec
from ..device.protocol import KernelParam
from ..frontend.options import parse_options, split_options
from ..image import layout_of
from ..memory.heap import Heap
from ..memory.storage import StorageView
from ..records import dataclass
from .calls.places import Frames
from .identity import CHANNEL_ORDER, CHANNEL_TYPE
from .messages import encode_list, encode_text
from .protocol import FINE_GRAIN, KINDS, MEMORY_REPLY, NO_PLACE, SHARED_VIRTUAL, Argument

if TYPE_CHECKING:
    from ..frontend.units import SourceUnit

_ORDERS = {number: name for name, number in CHANNEL_ORDER.items()}
_TYPES = {number: name for name, number in CHANNEL_TYPE.items()}
_LIBRARY = "-create-library"


@dataclass(frozen=True)
class Program:
    """What a program object holds: `units` of clCompileProgram or of a library, or the built program and its kernels. linked:
    from compiled ones, so that `source` is not a text that builds."""

    source: str
    units: tuple[SourceUnit, ...] = ()
    built: SimProgram | None = None
    kernels: tuple[SimKernel, ...] = ()
    linked: bool = False


class Objects:
    """Numbers are the shim's; an unknown one is a DeviceError. The caller holds the device's lock, except for `build`, `compile`
    and `link`. generation: changes when a number means something else. shared: numbers of allocations of shared virtual memory,
    and whether each is fine-grained."""

    def __init__(self, device: SimDevice, heap: Heap):
        self.device, self._heap = device, heap
        self._memories: dict[int, StorageView] = {}
        self._parts: set[int] = set()
        self.shared: dict[int, bool] = {}
        self._makers: dict[int, tuple[int, Frames]] = {}
        self._flags: weakref.WeakKeyDictionary[StorageView, int] = weakref.WeakKeyDictionary()
        self._programs: dict[int, Program] = {}
        self.generation = 0

    # -- memories

    def create(self, fields: Sequence[int]) -> bytes:
        """Make a memory of MEMORY_BODY; returns MEMORY_REPLY. DeviceError with the code of the call that asked for it."""
        number, kind, flags, size, *image, parent, _, offset = fields
        if number in self._memories or not number:
            raise DeviceError("CL_INVALID_VALUE", f"memory {number}: expected a number that is not in use")
        if kind >= len(KINDS):
            raise DeviceError("CL_INVALID_VALUE", f"memory of kind {kind}: expected 0 to {len(KINDS) - 1}")
        whole = self.memory(parent) if parent else None
        if KINDS[kind] == "buffer":
            view = self._make_buffer(size, whole, offset)
        else:
            view = self._make_image(_image_spec(KINDS[kind], image), whole, offset)
        self._memories[number] = view
        self._flags[view] = flags
        if parent:
            self._parts.add(number)
        if flags & SHARED_VIRTUAL and view.layout is None:
            self.shared[number] = bool(flags & FINE_GRAIN)
        return self._describe(view, alone=not parent)

    def note_maker(self, number: int, call: int, frames: Frames) -> None:
        """A memory was made by this call of the host, from these frames of its program."""
        self._makers[number] = call, frames

    def find_maker(self, number: int) -> tuple[int, Frames]:
        """The call that made a memory, and from where; 0 and none where that is not known."""
        return self._makers.get(number, (0, ()))

    def image_bytes(self, fields: Sequence[int]) -> int:
        """The bytes of an image of MEMORY_BODY over a buffer, without making it. DeviceError as of `create`."""
        _, kind, _flags, _size, *image, _, _, _ = fields
        if not 0 < kind < len(KINDS):
            raise DeviceError("CL_INVALID_IMAGE_DESCRIPTOR", f"image of kind {kind}: expected 1 to {len(KINDS) - 1}")
        return self.device.view_nbytes(_image_spec(KINDS[kind], image))

    def memory(self, number: int) -> StorageView:
        try:
            return self._memories[number]
        except KeyError:
            raise DeviceError("CL_INVALID_MEM_OBJECT", f"memory {number}: there is none of this number") from None

    def free(self, number: int) -> None:
        """Give a memory up; parts of it cannot be used any more."""
        view = self.memory(number)
        del self._memories[number]
        self.shared.pop(number, None)
        self._makers.pop(number, None)
        self.generation += 1
        if number in self._parts:
            self._parts.remove(number)
            view.release()
        elif view.live:
            self.device.free(view.storage)

    def find(self, number: int) -> StorageView | None:
        """The memory of a number, None if there is none."""
        return self._memories.get(number)

    def is_part(self, number: int) -> bool:
        """Whether a memory is a part of another."""
        return number in self._parts

    def number_of(self, view: StorageView) -> int:
        """The number of a memory, 0 for a view that is none."""
        return next((number for number, known in self._memories.items() if known is view), 0)

    def flags_of(self, view: StorageView) -> int:
        """The flags that a memory was made with, 0 for a view that is none."""
        return self._flags.get(view, 0)

    def _make_buffer(self, size: int, whole: StorageView | None, offset: int) -> StorageView:
        if whole is None:
            storage = self.device.allocate(size)
            return self.device.view(storage, BufferSpec(size))
        self._check_inside(whole, offset, size, "CL_INVALID_VALUE")
        return self.device.view(whole.storage, BufferSpec(size), whole.offset + offset)

    def _make_image(self, spec: ImageSpec, whole: StorageView | None, offset: int) -> StorageView:
        if whole is None:
            return self.device.create_image(replace(spec, row_pitch=None, slice_pitch=None))  # these are of the host's data
        if whole.layout is not None:
            what = "an image over another image (mem_object of clCreateImage)"
            raise UnsupportedError(f"{what}; make it over a buffer, or copy the texels")
        if spec.kind not in self.device.info.image_views:
            reason = f"{spec.kind} over a buffer: {self.device.info.name} does not have it (cl_ext_image_from_buffer)"
            raise DeviceError("CL_INVALID_IMAGE_DESCRIPTOR", reason)
        layout = layout_of(spec, self.device.profile)
        check_alignment(spec, layout, whole.offset + offset, self.device.profile)
        self._check_inside(whole, offset, layout.nbytes, "CL_INVALID_IMAGE_SIZE")
        return self.device.view(whole.storage, spec, whole.offset + offset)

    def _check_inside(self, whole: StorageView, offset: int, size: int, code: str) -> None:
        if whole.layout is not None:
            raise DeviceError("CL_INVALID_MEM_OBJECT", f"a part of {whole.spec}: expected a part of a buffer")
        if offset + size > whole.nbytes or not size:
            raise DeviceError(code, f"{size} bytes at offset {offset}: expected a part of the buffer's {whole.nbytes} bytes")

    def _describe(self, view: StorageView, alone: bool) -> bytes:
        layout = view.layout
        if layout is None:
            return MEMORY_REPLY.pack(self._heap.place_of(view.address), view.nbytes, 0, 0, 0, 0)
        assert isinstance(view.spec, ImageSpec)
        dense = layout.width * layout.texel_bytes
        row = dense if alone else layout.row_pitch
        plane = (dense * layout.height if alone else layout.slice_pitch) if view.spec.kind in _SLICED else 0
        return MEMORY_REPLY.pack(NO_PLACE, view.nbytes, row, plane, layout.texel_bytes, 0)

    # -- programs

    def build(self, number: int, source: str, options: str) -> bytes:
        """clBuildProgram; returns PROGRAM_REPLY. Errors as of `SimDevice.build`."""
        built = self.device.build(source, options)
        return self._keep(number, source, built)

    def compile(self, number: int, source: str, options: str, headers: Sequence[tuple[str, str]]) -> bytes:
        """clCompileProgram; returns PROGRAM_REPLY without kernels. Errors as of `SimDevice.compile`."""
        with _refusing_as("CL_INVALID_COMPILER_OPTIONS"):
            unit = self.device.compile(source, options, dict(headers))
        self._programs[number] = Program(source, (unit,))
        return _encode_log(unit.warnings) + encode_list([])

    def link(self, number: int, options: str, inputs: Sequence[int]) -> bytes:
        """clLinkProgram, of a program or a library; returns PROGRAM_REPLY. Errors as of `SimDevice.link`, CL_INVALID_OPERATION
        for an input that is not compiled."""
        units: list[SourceUnit] = []
        for each in inputs:
            program = self.program(each)
            if not program.units:
                raise DeviceError("CL_INVALID_OPERATION", f"program {each}: expected one that is compiled, or a library")
            units += program.units
        if not units:
            raise DeviceError("CL_INVALID_VALUE", "linking nothing: expected one or more programs")
        source = "\n".join(unit.source for unit in units)
        with _refusing_as("CL_INVALID_LINKER_OPTIONS"):
            words = split_options(options)
            parse_options(options, self.device.profile.extensions | self.device.profile.compiler_extensions)
        if _LIBRARY in words:
            self._programs[number] = Program(source, tuple(units))
            return _encode_log([]) + encode_list([])
        return self._keep(number, source, self.device.link(units, options), linked=True)

    def program(self, number: int) -> Program:
        try:
            return self._programs[number]
        except KeyError:
            raise DeviceError("CL_INVALID_PROGRAM", f"program {number}: there is none of this number") from None

    def kernel(self, program: int, place: int) -> SimKernel:
        kernels = self.program(program).kernels
        if place >= len(kernels):
            raise DeviceError("CL_INVALID_KERNEL", f"kernel {place} of program {program}: it has {len(kernels)}")
        return kernels[place]

    def describe_kernels(self, program: int) -> bytes:
        """[KERNEL] of a program."""
        return encode_list(map(self._encode_kernel, self.program(program).kernels))

    def group_limit(self, program: int, place: int) -> int:
        """Work-items of the largest group of a kernel that is not refused."""
        return find_largest_group(self.kernel(program, place), self.device.profile)

    def free_program(self, number: int) -> None:
        self.program(number)
        del self._programs[number]
        self.generation += 1

    def _keep(self, number: int, source: str, built: SimProgram, linked: bool = False) -> bytes:
        kernels = tuple(built[name] for name in built.kernel_names())
        self._programs[number] = Program(source, (), built, kernels, linked)
        self.generation += 1
        return _encode_log(built.warnings) + self.describe_kernels(number)

    def _encode_kernel(self, kernel: SimKernel) -> bytes:
        required = kernel.required_work_group_size
        attributes = f"reqd_work_group_size({','.join(map(str, required))})" if required else ""
        sure, wave = sure_group(self.device.profile), kernel.sub_group_size
        head = encode_text(kernel.name) + encode_text(attributes)
        facts = _KERNEL_FACTS.pack(kernel.local_bytes, kernel.private_bytes, *(required or (0, 0, 0)), sure, wave, wave)
        return head + facts + encode_list(map(_encode_param, kernel.params))


@contextlib.contextmanager
def _refusing_as(code: str) -> Iterator[None]:
    """Options that nobody knows have a separate code for each step of separate compilation."""
    try:
        yield
    except DeviceError as error:
        if error.code != "CL_INVALID_BUILD_OPTIONS":
            raise
        raise DeviceError(code, str(error).partition(": ")[2]) from None


_SLICED = ("image1d_array", "image2d_array", "image3d")
_KERNEL_FACTS = struct.Struct("<QQ6I")
_PARAM_FACTS = struct.Struct("<5I")
_PARAM_KINDS = {"scalar": Argument.VALUE, "buffer": Argument.BUFFER, "image": Argument.IMAGE, "sampler": Argument.SAMPLER,
                "local": Argument.LOCAL}  # fmt: skip
_SPACES = {"global": 0x119B, "local": 0x119C, "constant": 0x119D, "private": 0x119E}
_ACCESS = {"read_only": 0x11A0, "write_only": 0x11A1, "read_write": 0x11A2, "none": 0x11A3}
_QUALIFIERS = {"const": 1, "restrict": 2, "volatile": 4}


def _encode_param(param: KernelParam) -> bytes:
    qualifiers = sum(_QUALIFIERS.get(word, 0) for word in param.qualifiers)
    kind = _PARAM_KINDS[param.kind]
    facts = (kind, param.nbytes, _SPACES[param.space], _ACCESS.get(param.access, _ACCESS["none"]), qualifiers)
    return _PARAM_FACTS.pack(*facts) + encode_text(param.name) + encode_text(param.spelled)


def _encode_log(warnings: Sequence[object]) -> bytes:
    return encode_text("\n".join(map(str, warnings)))


def _image_spec(kind: str, image: Sequence[int]) -> ImageSpec:
    """The spec of an image of MEMORY_BODY: order, type, width, height, depth, layers, row pitch, slice pitch."""
    order, type, width, height, depth, layers, row_pitch, slice_pitch = image
    if order not in _ORDERS or type not in _TYPES:
        given = f"order {order:#x}, type {type:#x}"
        raise DeviceError("CL_IMAGE_FORMAT_NOT_SUPPORTED", f"image of {given}: expected one of clGetSupportedImageFormats")
    if max(width, height, depth, layers, row_pitch, slice_pitch) >= 1 << 32:
        raise DeviceError("CL_INVALID_IMAGE_SIZE", f"{kind} of {width} x {height} x {max(depth, layers)}")
    rows = height if kind in ("image2d", "image2d_array", "image3d") else 1
    deep = {"image3d": depth, "image1d_array": layers, "image2d_array": layers}.get(kind, 1)
    return ImageSpec(kind, width, rows, deep, _ORDERS[order], _TYPES[type], row_pitch or None, slice_pitch or None)
