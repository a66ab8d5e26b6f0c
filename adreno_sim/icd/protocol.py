"""What the driver's shim, in the client's process, and its server say to each other; `write_header` gives it to C.

**Socket.** A stream between the shim and the server, for what needs an answer: a request, then its reply, one at a time. Numbers
are little-endian; text is UTF-8 behind its length. The first request is HELLO, which carries the file descriptor of the link
memory; its reply carries that of the heap.

**Link memory**, made by the shim, sealed: a page of counters (`COUNTERS`), a table of results, the ring, and a table of calls.
The shim writes commands into the ring in the order in which they are to run and adds to `head`; the server runs them one after
another, writes the result of command n into place n % RESULTS, then n into `completed`, and adds to `tail` what it has read. A
command never wraps around the end of the ring: a PAD command fills the rest, and a command takes a rest in which no PAD fits.
After a change of `head` the shim adds 1 to the futex `work`, and wakes it if `server_sleeps` is set. A thread of the shim that
sleeps adds 1 to `clients_sleep` and lowers `wanted` to the number for which it waits; when `completed` gets there, the server
raises `wanted` again (to NOTHING_WANTED), adds 1 to the futex `done` and wakes all, and each of them says again what it waits
for. As long as `alive` grows, the shim waits for whatever it asked for, as a build may take long; a server that is silent it
gives up.

**Heap**, made by the server: all memory of the device, and sealed against shrinking. A buffer is a range of it, so that the shim
copies to and from a buffer itself when the commands before it are complete. What the shim wrote it reports by WRITTEN. Where the
shim can map it at the server's address, there is shared virtual memory: buffers whose bytes the host uses where they lie, and a
pointer to them that is in memory means the same for kernels.

**Staging**, a third memory, made by the shim: where data of commands lies that do not run yet, and texels of images, whose layout
only the server knows.

The server believes nothing: a command whose numbers are out of range fails with OpenCL's code.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from enum import IntEnum

from .status import NAMES

VERSION = 7

PAGE = 4096
RESULTS = 16384
RING_BYTES = 4 << 20
STAGING_BYTES = 1 << 30
"""Sparse: what is not used takes no memory."""

COUNTERS = {"head": 0, "tail": 64, "completed": 128, "work": 192, "server_sleeps": 196, "done": 256, "clients_sleep": 260,
            "wanted": 264, "alive": 320}  # fmt: skip
"""Byte offsets in the first page of the link memory. head, tail, completed and wanted are 64 bits, the rest 32."""

BEAT = 1.0
"""Seconds after which the server adds 1 to `alive`, whatever else it does."""

NOTHING_WANTED = 2**64 - 1

RESULTS_AT = PAGE
RESULT = struct.Struct("<QQiI")
"""Nanoseconds of CLOCK_MONOTONIC at which a command started and ended, its status (0 or OpenCL's error), 0."""

RING_AT = RESULTS_AT + -(-RESULTS * RESULT.size // PAGE) * PAGE
CALLS = 65536
CALLS_AT = RING_AT + RING_BYTES
"""A table of the last numbered calls of the host: at place n % CALLS, 8 bytes of call n: its number, and that of the place in the
host's program that it came from (PLACE), 0 where that is not known."""

LINK_BYTES = CALLS_AT + 8 * CALLS


class Request(IntEnum):
    """Requests on the socket. A request is REQUEST, then a body; a reply is REPLY, then a body.

    Bodies, in order (`s` = text or bytes behind a 32-bit length; `[x]` = a 32-bit count and so many x):

    HELLO      u32 version, s name of the client's program
               -> u64 bytes of the heap, u64 its address in the server, [u32 query, s answer] of the platform,
                  [u32 query, s answer] of the device, [u32 order, u32 type, u32 mask of KINDS] image formats
    MEMORY     MEMORY_BODY -> MEMORY_REPLY
    BUILD      u32 program, s source, s options, [s name, s text] headers -> PROGRAM_REPLY
    COMPILE    as BUILD
    LINK       u32 program, s options, [u32 program] inputs -> PROGRAM_REPLY
    KERNELS    u32 program -> [KERNEL]
    MISUSE     u32 kind (Misuse), u32 number of the host's call, u32 thread, s kernel or nothing, s sentence -> nothing
    REFUSED    u32 number of the host's call, u32 thread, i32 OpenCL's error, s function, s kernel or nothing, s why or nothing
               -> nothing
    IMAGE_BYTES MEMORY_BODY of an image -> u64 bytes that it takes
    PLACE      u32 number, [s frame] where a call of the host came from, the innermost frame first -> nothing
    GROUP_LIMIT u32 program, u32 kernel -> u32 work-items of the largest group that is not refused
    CLOSE      [s type of object, s where it was made] objects that were never released -> nothing
    """

    HELLO = 1
    MEMORY = 2
    BUILD = 3
    COMPILE = 4
    LINK = 5
    KERNELS = 6
    CLOSE = 7
    MISUSE = 8
    IMAGE_BYTES = 9
    GROUP_LIMIT = 10
    REFUSED = 11
    PLACE = 12


REQUEST = struct.Struct("<III")
"""Bytes of the body, kind, number of the host's call."""
REPLY = struct.Struct("<Ii")
"""Bytes of the body, status: 0, or OpenCL's error; the body of an error is its text."""

MEMORY_BODY = struct.Struct("<IIQQIIQQQQQQIIQ")
"""memory: its number, chosen by the shim, never used twice. kind: place in KINDS. flags, size in bytes (buffers); image order,
type (cl_channel_order, cl_channel_type), width, height, depth, layers, row pitch, slice pitch; parent: number of the memory that
this is a part of, 0 for none; 0; offset: byte offset in it."""

MEMORY_REPLY = struct.Struct("<QQQQII")
"""place: byte offset of a buffer in the heap, NO_PLACE of an image; size in bytes; row pitch, slice pitch of an image as its
queries answer them; bytes of a texel; 0."""
NO_PLACE = 2**64 - 1

KINDS = ("buffer", "image1d", "image1d_buffer", "image1d_array", "image2d", "image2d_array", "image3d")
"""Kinds of memory objects, by number."""

PROGRAM_REPLY = "s log, [KERNEL]; the status says whether it was built (0), or CL_BUILD_PROGRAM_FAILURE or a similar code"

KERNEL = """s name, s attributes, u64 bytes of local memory, u64 bytes of private memory, u32[3] required group size (0: none),
u32 work-items of a group that every kernel can have (GROUP_LIMIT says what this one can), u32 preferred multiple,
u32 sub-group size, [PARAM]"""
PARAM = """u32 kind (Argument), u32 bytes (scalars; 0 = any), u32 address qualifier, u32 access qualifier, u32 type qualifier
(numbers and bits of clGetKernelArgInfo), s name, s type name"""


class Argument(IntEnum):
    """Kinds of kernel parameters, and of what is given for them."""

    VALUE = 0
    BUFFER = 1
    IMAGE = 2
    SAMPLER = 3
    LOCAL = 4
    NULL = 5
    SHARED = 6
    REACHED = 7


class Misuse(IntEnum):
    """What a host's program does against the rules of OpenCL, as the shim sees it."""

    USE_AFTER_RELEASE = 1
    ARGUMENT_NOT_SET = 2
    USED_WHILE_MAPPED = 3
    HOST_MEMORY_CHANGED = 4
    NEVER_UNMAPPED = 5
    UNORDERED_TRANSFER = 6
    NEWER_THAN_DEVICE = 7
    EXTENSION_NOT_LISTED = 8
    QUEUE_NOT_FLUSHED = 9
    WAIT_NOT_FLUSHED = 10
    READ_MAP_WRITTEN = 11


class Command(IntEnum):
    """Commands in the ring: COMMAND, then a body, filled up to a multiple of 8 bytes.

    PAD         nothing: go on at the start of the ring
    NOTHING     a marker, a barrier, a migration: nothing, or u64 bits of Mark
    LAUNCH      LAUNCH_BODY, then for each argument ARGUMENT and its value: VALUE the bytes, filled up to 8; BUFFER, IMAGE u64
                memory; SHARED u64 memory, u64 byte of it; REACHED u64 memory, behind all that the kernel takes: it reaches
                this memory by other pointers; SAMPLER u64 bits (normalized | addressing << 8 | filter << 16, cl_addressing_mode
                and cl_filter_mode less their first value); LOCAL u64 bytes; NULL nothing
    WRITTEN     RANGE: the shim has written these bytes of a buffer
    READ        TRANSFER: a region of a memory into staging
    WRITE       TRANSFER: a region of a memory from staging
    COPY        COPY_BODY: a region of one memory to another; between a buffer and an image the buffer holds rows without padding
    FILL        FILL_BODY, then the pattern: of a buffer its bytes, of an image 16 bytes of a colour
    FREE        u64 memory
    FREE_PROGRAM u64 program
    HOST_READ   RANGE: the host has read these bytes of a buffer, or reads them from now on. Behind it, and behind the TRANSFER of
                a READ, may be u64 1: a mapping through which the host also writes, so that it need not read all
    ORDER       ORDER_BODY: what orders commands besides their waits and their queue
    SHARE       SHARE_BODY: whether the host may change a coarse-grained allocation of shared virtual memory from now on

    A command fails with CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST where one that it waits for has failed.
    """

    PAD = 0
    NOTHING = 1
    LAUNCH = 2
    WRITTEN = 3
    READ = 4
    WRITE = 5
    COPY = 6
    FILL = 7
    FREE = 8
    FREE_PROGRAM = 9
    HOST_READ = 10
    ORDER = 11
    SHARE = 12


class Mark(IntEnum):
    """Bits of a marker or barrier: it waits for all that is in its queue; what follows in its queue waits for it."""

    ALL_BEFORE = 1
    BARRIER = 2


class Order(IntEnum):
    """What an ORDER says. From the first one on, waits of commands name also commands that are complete.

    QUEUE: a queue was made, in order or not; without this event, it is in order. KNOWN: the host knows that a command is
    complete. KNOWN_QUEUE: the host knows that all commands of the ORDER's queue up to this number are.
    """

    QUEUE = 1
    KNOWN = 2
    KNOWN_QUEUE = 3


COMMAND = struct.Struct("<IHHQIIQ")
"""Bytes with this header and padding, kind, count of waits, number of the command (from 1, without gaps; 0 for PAD), number of
the host's call, of its thread, the queue. Behind it the numbers of commands that it waits for, u64 each."""

LAUNCH_BODY = struct.Struct("<III I QQQ QQQ QQQ")
"""program, place of the kernel in its program, dimensions, count of arguments; offset, global size, local size (0: not given)."""
ARGUMENT = struct.Struct("<II")
"""Argument, bytes."""

RANGE = struct.Struct("<QQQ")
"""memory, offset, bytes."""

TRANSFER = struct.Struct("<QQ QQQ QQQ QQ QQQ QQ")
"""memory, byte offset in staging; region; origin, row pitch, slice pitch in the memory; origin, row pitch, slice pitch in
staging. Of a buffer region[0] and origin[0] are bytes and pitches are given, of an image texels, and its own pitches are 0."""

COPY_BODY = struct.Struct("<QQ QQQ QQQ QQ QQQ QQ")
"""source, target; region; origin, row pitch, slice pitch in the source, in the target, as of TRANSFER. Where one is a buffer and
the other an image, the region is in texels and the buffer's origin[0] in bytes."""

ORDER_BODY = struct.Struct("<IIQ")
"""Order, whether a queue is in order, number of the queue or command."""

SHARE_BODY = struct.Struct("<QQ")
"""memory, whether it is mapped."""

SHARED_VIRTUAL, FINE_GRAIN = 1 << 62, 1 << 10
"""Flags of MEMORY_BODY: memory of clSVMAlloc; which the host reaches at any time."""

FILL_BODY = struct.Struct("<QII QQQ QQQ")
"""memory, bytes of the pattern, 0; origin, region: of a buffer bytes in the first place, of an image texels."""

STANDBY = "ADRENO_SIM_ICD_STANDBY"
"""Environment variable: the socket of a process that has servers for clients (`start/standby.py`)."""

JOIN, JOIN_MOST = struct.Struct("<II"), 16 << 20
"""What a client says to it: its thread, and the bytes of its environment, at most JOIN_MOST, which follow. The descriptors of its
standard output and error come along. The answer is a byte, 1; then the socket is the one of a session."""

STRUCTS = {
    "RESULT": RESULT, "REQUEST": REQUEST, "REPLY": REPLY, "MEMORY_BODY": MEMORY_BODY, "MEMORY_REPLY": MEMORY_REPLY,
    "COMMAND": COMMAND, "LAUNCH_BODY": LAUNCH_BODY, "ARGUMENT": ARGUMENT, "RANGE": RANGE, "TRANSFER": TRANSFER,
    "COPY_BODY": COPY_BODY, "FILL_BODY": FILL_BODY, "ORDER_BODY": ORDER_BODY,
    "JOIN": JOIN,
}  # fmt: skip


def write_header() -> str:
    """The constants of this file as a C header; the shim's own structs assert the sizes."""
    return "\n".join(["/* Written by protocol.py. */", "#pragma once", *_lines(), ""])


def _lines() -> Iterator[str]:
    numbers = {
        "VERSION": VERSION, "PAGE": PAGE, "RESULTS": RESULTS, "RING_BYTES": RING_BYTES, "STAGING_BYTES": STAGING_BYTES,
        "RESULTS_AT": RESULTS_AT, "RING_AT": RING_AT, "LINK_BYTES": LINK_BYTES, "NO_PLACE": NO_PLACE,
        "CALLS": CALLS, "CALLS_AT": CALLS_AT,
        "NOTHING_WANTED": NOTHING_WANTED, "JOIN_MOST": JOIN_MOST,
        **{f"AT_{name.upper()}": place for name, place in COUNTERS.items()},
        **{f"SIZE_{name}": made.size for name, made in STRUCTS.items()},
    }  # fmt: skip
    for name, number in numbers.items():
        yield f"#define ADRENO_{name} {number}{'ull' if number >= 2**31 else ''}"
    kinds_of = {"REQUEST": Request, "COMMAND": Command, "ARGUMENT": Argument, "MISUSE": Misuse, "MARK": Mark, "ORDER": Order}
    for prefix, kinds in kinds_of.items():
        for kind in kinds:
            yield f"#define ADRENO_{prefix}_{kind.name} {kind.value}"
    for number, name in enumerate(KINDS):
        yield f"#define ADRENO_KIND_{name.upper()} {number}"
    yield f'#define ADRENO_STANDBY "{STANDBY}"'
    yield "#define ADRENO_ERROR_NAMES(N) " + " ".join(f'N({number}, "{name}")' for number, name in NAMES.items())
