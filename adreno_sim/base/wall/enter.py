"""Puts this process behind the wall."""

from __future__ import annotations

import contextlib
import os
import resource
import sys
import sysconfig
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

from ...records import dataclass
from .. import disk_cache
from ..code_digest import PACKAGE
from ..errors import AdrenoSimError
from . import capabilities, landlock, seccomp, variables
from .landlock import READ, WRITE, Right
from .linked import find_linked

SWITCH = "ADRENO_SIM_SANDBOX"
"""Environment variable: off = no wall, in this process and those that it starts."""

_SYSTEM = ("/bin", "/etc", "/lib", "/lib32", "/lib64", "/nix/store", "/opt", "/proc", "/sbin", "/sys", "/usr")
"""Folders of programs, libraries and settings. Passwords in /etc are root's to read: `_SECRET` names them."""
_SECRET = ("shadow", "shadow-", "gshadow", "gshadow-", "sudoers", "sudoers.d", "ssh", "ssl/private", "krb5.keytab")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")


@dataclass(frozen=True)
class Openings:
    """What the wall leaves open besides the system, this program and its cache. read: files, and folders with all below them;
    write: the same. run: programs. listed: folders whose names may be read. passing: where folders of this process's own lie,
    which it may remove when they are empty."""

    read: tuple[Path, ...] = ()
    write: tuple[Path, ...] = ()
    run: tuple[Path, ...] = ()
    listed: tuple[Path, ...] = ()
    passing: tuple[Path, ...] = ()


def is_switched_off() -> bool:
    """Whether the environment asks for no wall."""
    return os.environ.get(SWITCH, "").lower() in ("off", "0", "no", "false")


def find_gaps() -> str:
    """What this kernel cannot do, as a sentence; "" for nothing."""
    return "" if landlock.find_version() else _NO_LANDLOCK


_NO_LANDLOCK = "files and programs stay open (this system has no Landlock, which Linux 5.13 and newer can have)"


class ThreadsError(AdrenoSimError):
    """The process has more threads than one; the earlier ones would stay outside the wall."""


def enter(openings: Openings) -> str:
    """Restrict this process, and all that it starts, for good. Returns what this system cannot do of it, as a sentence; "" for
    nothing. ThreadsError in a process that has more threads than one."""
    threads = len(os.listdir("/proc/self/task"))
    if threads > 1:
        raise ThreadsError(
            f"the sandbox: expected a process with one thread, this one has {threads}: enter it before numpy is imported"
        )
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core would hold what the wall keeps in
    variables.forget_others()
    capabilities.give_up()
    missing = []
    version = landlock.find_version()
    if version:
        try:
            landlock.restrict(_rules(openings), version)
        except OSError as error:
            missing.append(f"files stay open (Landlock: {error.strerror})")
    else:
        missing.append(_NO_LANDLOCK)
    if not seccomp.restrict():
        missing.append("system calls stay open (no seccomp for this processor or kernel)")
    return "; ".join(missing)


def _rules(openings: Openings) -> Iterable[tuple[Path, Right]]:
    for path in (*_system_folders(), *_own_folders(), *openings.read):
        yield path, READ
    for device in _DEVICES:
        yield Path(device), READ | Right.WRITE_FILE | Right.IOCTL_DEV
    for path in openings.write:
        yield path, WRITE
    if disk_cache.is_enabled():
        yield disk_cache.root(), READ
        with contextlib.suppress(OSError):
            yield from ((path, WRITE) for path in disk_cache.make_data_folders())
    for path in openings.listed:
        yield path, Right.READ_DIR
    for path in openings.passing:
        yield path, Right.REMOVE_DIR
    for path in openings.run:
        yield path, READ | Right.EXECUTE


def _system_folders() -> Iterable[Path]:
    """Those of `_SYSTEM`; what is in /etc except for secrets, since a rule for a folder also holds for all below it."""
    secret = {Path("/etc", name) for name in _SECRET}
    holders = {path.parent for path in secret}
    for name in _SYSTEM:
        yield from _without(Path(name), secret, holders)


def _without(path: Path, secret: set[Path], holders: set[Path]) -> Iterable[Path]:
    if path in secret:
        return
    if path not in holders:
        yield path
        return
    try:
        names = os.listdir(path)
    except OSError:
        return
    for name in names:
        yield from _without(path / name, secret, holders)


def _own_folders() -> Iterable[Path]:
    """Where Python and this program's modules lie."""
    yield PACKAGE
    for name in ("compiler", "golden"):
        yield (PACKAGE / name).resolve()
    if sys.pycache_prefix:  # read, so that modules need not be compiled; written it would be code for the next run
        yield Path(sys.pycache_prefix)
    here = os.getcwd()
    named = {sys.prefix, sys.base_prefix, *sysconfig.get_paths().values(), *sys.path}
    # where `python -m` stands holds anything
    folders = [folder for folder in named if folder and os.path.realpath(folder) not in (os.path.realpath(here), "/")]
    yield from map(Path, folders)
    yield from find_linked(folder for folder in folders if folder not in (sys.prefix, sys.base_prefix))
    for name in ("tvm", "tvm_ffi"):  # a checkout has its libraries beside its modules
        spec = find_spec(name)
        if spec is not None and spec.origin and "site-packages" not in spec.origin:
            yield Path(spec.origin).parents[2]
    for name in ("LD_LIBRARY_PATH", "TVM_LIBRARY_PATH", "OCL_ICD_VENDORS"):
        yield from (Path(folder) for folder in os.environ.get(name, "").split(os.pathsep) if folder)
