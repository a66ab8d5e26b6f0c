"""Linux' seccomp: which system calls this process may still make.

Refused are those that nothing here makes and that reach past files: sockets, other processes and their limits, mounts, the
kernel itself, io_uring (which does what it is asked without system calls), and letters put into a terminal's input. They fail
with EPERM, which libraries know how to take; nothing is killed. What is not named stays allowed: a list of what Python, LLVM, TVM
and numba may call would break with each new version of theirs.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
from collections.abc import Iterable

from .system_call import call, give_up_privileges

_X86_64, _AARCH64 = "x86_64", "aarch64"
_ARCHITECTURE = {_X86_64: 0xC000003E, _AARCH64: 0xC00000B7}
_SECCOMP = {_X86_64: 317, _AARCH64: 277}
_IOCTL = {_X86_64: 16, _AARCH64: 29}
_PRLIMIT = {_X86_64: 302, _AARCH64: 261}
_FILTER, _ALL_THREADS, _AS_FAST_AS_BEFORE = 1, 1, 4
"""SECCOMP_SET_MODE_FILTER; flags TSYNC and SPEC_ALLOW: without the latter older kernels switch off speculation, for all code."""

REFUSED: dict[str, tuple[int | None, int | None]] = {
    "socket": (41, 198), "connect": (42, 203), "accept": (43, 202), "bind": (49, 200), "listen": (50, 201), "accept4": (288, 242),
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "pidfd_getfd": (438, 438),
    "chmod": (90, None), "fchmodat": (268, 53), "fchmodat2": (452, 452), "chown": (92, None), "lchown": (94, None),
    "fchownat": (260, 54), "setxattr": (188, 5), "lsetxattr": (189, 6), "removexattr": (197, 14), "lremovexattr": (198, 15),
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51), "unshare": (272, 97),
    "setns": (308, 268),
    "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432),
    "mount_setattr": (442, 442), "open_by_handle_at": (304, 265), "bpf": (321, 280), "perf_event_open": (298, 241),
    "userfaultfd": (323, 282), "io_uring_setup": (425, 425), "add_key": (248, 217), "request_key": (249, 218),
    "keyctl": (250, 219),
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "init_module": (175, 105), "finit_module": (313, 273),
    "delete_module": (176, 106), "reboot": (169, 142), "swapon": (167, 224), "swapoff": (168, 225), "acct": (163, 89),
    "settimeofday": (164, 170), "clock_settime": (227, 112), "sethostname": (170, 161), "setdomainname": (171, 162),
    "iopl": (172, None), "ioperm": (173, None), "vhangup": (153, 58),
}  # fmt: skip
"""Numbers on x86-64 and on aarch64. chmod and its like: Landlock leaves a file's mode and owner to whom it belongs."""

_TERMINAL_INPUT = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX of ioctl."""

_LOAD, _JUMP_IF_EQUAL, _JUMP_IF_AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER, _MACHINE, _FIRST_ARGUMENT, _SECOND_ARGUMENT = 0, 4, 16, 24
"""Places in struct seccomp_data; of an argument its lower half."""
_ALLOW, _FAIL = 0x7FFF0000, 0x00050000 | errno.EPERM
_FIRST_OF_X32 = 0x40000000
"""System calls of the x32 ABI are the same ones under other numbers."""


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_void_p))


def write_program(machine: str) -> bytes:
    """The filter, as instructions of the classic BPF. KeyError for a processor whose numbers are not known here."""
    place = (_X86_64, _AARCH64).index(machine) if machine in _ARCHITECTURE else None
    if place is None:
        raise KeyError(machine)
    code = [_step(_LOAD, _MACHINE), _step(_JUMP_IF_EQUAL, _ARCHITECTURE[machine], 1, 0), _step(_RETURN, _FAIL)]
    code += [_step(_LOAD, _NUMBER), _step(_JUMP_IF_AT_LEAST, _FIRST_OF_X32, 0, 1), _step(_RETURN, _FAIL)]
    code += _refuse(sorted(number for pair in REFUSED.values() if (number := pair[place]) is not None))
    own_limits = [_step(_LOAD, _FIRST_ARGUMENT), _step(_JUMP_IF_EQUAL, 0, 0, 1), _step(_RETURN, _ALLOW), _step(_RETURN, _FAIL)]
    code += [_step(_JUMP_IF_EQUAL, _PRLIMIT[machine], 0, len(own_limits)), *own_limits]
    code += [_step(_JUMP_IF_EQUAL, _IOCTL[machine], 1, 0), _step(_RETURN, _ALLOW), _step(_LOAD, _SECOND_ARGUMENT)]
    return b"".join([*code, *_refuse(_TERMINAL_INPUT), _step(_RETURN, _ALLOW)])


def _refuse(words: Iterable[int]) -> list[bytes]:
    return [step for word in words for step in (_step(_JUMP_IF_EQUAL, word, 0, 1), _step(_RETURN, _FAIL))]


def _step(code: int, operand: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, operand)


def restrict() -> bool:
    """Refuse these system calls to this process and all that it starts. Returns whether this kernel and processor can do that."""
    machine = platform.machine()
    if machine not in _ARCHITECTURE:
        return False
    code = write_program(machine)
    program = _Program(len(code) // 8, ctypes.cast(ctypes.c_char_p(code), ctypes.c_void_p))
    try:
        give_up_privileges()
        for flags in (_ALL_THREADS | _AS_FAST_AS_BEFORE, _ALL_THREADS):
            try:
                return call(_SECCOMP[machine], _FILTER, flags, ctypes.byref(program)) == 0
            except OSError as error:
                if error.errno != errno.EINVAL:
                    raise
    except OSError:
        pass
    return False
