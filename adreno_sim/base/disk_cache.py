"""A disk cache of bytes that processes share, with one folder for each kind of entry.

An entry begins with the digest of its kind, its name and its bytes: one that is damaged, cut short, unreadable, or under the name
of another counts as absent, and also one that is not this user's, or that others may write; where that is so of the folder,
nothing is kept (`stored/ownership.py`). Writing is atomic, and a failure to write (a full or read-only disk) is not an error: the
bytes are made again next time. The folder is kept below a limit: what was not used for longest goes first, and losing an entry
that another process is about to read costs it no more than making the bytes again.

Environment: ADRENO_SIM_CACHE=off uses no disk at all; ADRENO_SIM_CACHE_DIR is the folder (default: the user's cache folder);
ADRENO_SIM_CACHE_MB is the limit in MiB (default 1024).
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import mmap
import os
import stat
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from io import BufferedReader
from pathlib import Path

from .errors import AdrenoSimError
from .output_file import replacing
from .stored.ownership import find_intruder, find_stranger

PREBUILT = Path(__file__).parents[1] / "prebuilt"
"""Entries that a wheel for one platform brings along, as they are in the cache. Elsewhere there is no such folder."""

SWITCH, FOLDER, LIMIT = "ADRENO_SIM_CACHE", "ADRENO_SIM_CACHE_DIR", "ADRENO_SIM_CACHE_MB"
DEFAULT_LIMIT = 1024
TRIMMED = 0.8
"""Part of the limit that is left after old entries were removed."""
_STALE = 3600.0
"""Seconds after which a temporary file belongs to a process that died."""
_TEMPORARY = ".tmp-"
_SIZE, _UNIT = ".size", 1024
"""A file as long as all entries are thought to be together, in units of so many bytes, rounded up for each entry. Every
writer makes it longer: appending is atomic, so that no lock is needed and no folder read to know when old entries must go."""


class CacheWarning(UserWarning):
    """Something on disk is left alone that others may have written."""


tell: Callable[[str], None] = lambda text: warnings.warn(text, CacheWarning, stacklevel=3)  # noqa: E731
"""Says in a line that something on disk is left alone. The command line prints it."""
_told: set[str] = set()


def _tell_once(text: str) -> None:
    if text not in _told:
        _told.add(text)
        tell(text)


def is_enabled() -> bool:
    """Whether anything is read from or written to disk. A folder that others can write is left alone, which is said once."""
    if is_switched_off():
        return False
    if reason := find_intruder(root()):
        _tell_once(f"nothing is kept between runs: {reason}; {FOLDER} names another folder")
        return False
    return True


def is_switched_off() -> bool:
    """Whether the environment asks for no disk at all."""
    return os.environ.get(SWITCH, "").lower() in ("off", "0", "no", "false")


@contextlib.contextmanager
def cache_off() -> Iterator[None]:
    """Use no disk meanwhile, in this process and those it starts."""
    before = os.environ.get(SWITCH)
    os.environ[SWITCH] = "off"
    try:
        yield
    finally:
        del os.environ[SWITCH]
        if before is not None:
            os.environ[SWITCH] = before


def root() -> Path:
    """The folder of all entries."""
    chosen = os.environ.get(FOLDER)
    if not chosen:
        import platformdirs

        chosen = platformdirs.user_cache_dir("adreno-sim")
    return Path(chosen)


def folder(kind: str) -> Path:
    """The folder of one kind of entry."""
    return root() / kind


def limit() -> int:
    """Bytes the folder may hold. AdrenoSimError for a value that is not a number."""
    text = os.environ.get(LIMIT) or str(DEFAULT_LIMIT)
    if not text.isdigit():
        raise AdrenoSimError(f"{LIMIT}={text}: expected a number of MiB")
    return int(text) << 20


def load(path: Path) -> bytes | None:
    """The bytes stored at `path`, or those that this package brings along for it, or None."""
    data = load_buffer(path)
    return None if data is None else bytes(data)


def load_buffer(path: Path) -> memoryview | None:
    """The same as memory that may be written, which changes no file; a large entry's begins at a page."""
    if not is_enabled() or path in _refused:
        return None
    try:
        head, data = _read(path)
        os.utime(path)  # by this the oldest are known
    except (OSError, ValueError):  # a file may be cut short before it is mapped
        head, data = _read_prebuilt(path)
    return data if head == _digest(path, data) + b"\n" else None


_refused: set[Path] = set()
"""Entries that were of no use, also where they cannot be removed, or were brought along."""


def refuse(path: Path, why: str) -> None:
    """Remove an entry that is whole and of no use to its reader, who makes it again; this process reads it no more. Says so
    once."""
    _refused.add(path)
    with contextlib.suppress(OSError):
        path.unlink()
    _tell_once(f"{path} is made again: {why}")


def _read_prebuilt(path: Path) -> tuple[bytes, memoryview]:
    try:
        return _read(PREBUILT / path.relative_to(root()))
    except (OSError, ValueError):  # there is none; the path is of another folder
        return b"", memoryview(b"")


def map_pages(path: Path) -> mmap.mmap | None:
    """The file of a large entry, whose data begin at byte PAGE; None if there is no whole one."""
    data = load_buffer(path)
    return data.obj if data is not None and isinstance(data.obj, mmap.mmap) else None


PAGE = mmap.PAGESIZE
LARGE = 1 << 18
"""Bytes from which an entry's data begin at a page, so that a reader has them where the system keeps the file already: its arrays
are aligned, and nothing is copied."""
_HEAD = 65
"""Bytes of the digest at the beginning of an entry, with the end of its line."""


def _read(path: Path) -> tuple[bytes, memoryview]:
    """The digest with the end of its line, and the data. Raises OSError."""
    with _open(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size >= PAGE + LARGE:
            whole = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
            return bytes(whole[:_HEAD]), whole[PAGE:]
        data = memoryview(bytearray(max(0, size - _HEAD)))
        head = file.read(_HEAD)
        return head, data[: file.readinto(data)]


def _open(path: Path) -> BufferedReader:
    """A regular file that is this user's alone. Raises OSError, also for what else is there: a pipe would wait, a device may
    have no end."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file")
    if status.st_size > max(limit(), DEFAULT_LIMIT << 20):
        os.close(descriptor)
        raise OSError(errno.EFBIG, "an entry is no larger than all may be together")
    if reason := find_stranger(status):
        os.close(descriptor)
        _tell_once(f"{path} is not read: {reason}")
        raise OSError(errno.EPERM, reason)
    return os.fdopen(descriptor, "rb")


DATA = (
    "library", "runtime", "programs", "proofs", "coarse", "modules", "objects", "machine", "search", "golden", "models",
    "drivers", "crashes", "differences",
)  # fmt: skip
"""Kinds that commands behind the sandbox's wall write. The others are libraries that programs without a wall load."""


def make_data_folders() -> list[Path]:
    """Make the folders of DATA, and return them with the file that counts what is kept. Raises OSError."""
    make_folder(root())
    for kind in DATA:
        make_folder(folder(kind))
    os.close(os.open(root() / _SIZE, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
    return [*map(folder, DATA), root() / _SIZE]


def store(path: Path, *data: bytes | memoryview) -> None:
    """Keep `data`, one after the other, at `path` if possible."""
    if not is_enabled():
        return
    with contextlib.suppress(OSError):
        make_folder(path.parent)
        with replacing(path, mode=0o600, prefix=_TEMPORARY, sync=False, anew=True) as file:  # what is lost is made again
            file.write(_digest(path, *data) + b"\n")
            if sum(map(len, data)) >= LARGE:
                file.write(bytes(PAGE - _HEAD))
            for part in data:
                file.write(part)
        _refused.discard(path)
        _keep_small(path.parents[1], sum(len(part) for part in data))


def make_folder(path: Path) -> None:
    """Make a folder of the cache, and those around it, for this user alone, if there is none. Raises OSError."""
    if not path.is_dir():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.mkdir(mode=0o700, exist_ok=True)


def _keep_small(base: Path, written: int) -> None:
    """Count an entry of `written` bytes, and examine the folder itself if it is too large by that count, or has none."""
    most = limit()
    handle = os.open(base / _SIZE, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        known = os.fstat(handle).st_size
        os.write(handle, bytes(-(-written // _UNIT)))
    finally:
        os.close(handle)
    if known == 0 or known * _UNIT + written > most:
        trim(base, most)


def trim(base: Path, most: int) -> None:
    """Remove the entries under `base` that were not used for longest until a part of `most` bytes is left, if there are more."""
    found = sorted(_entries(base))
    total = sum(size for _, size, _ in found)
    goal = most * TRIMMED if total > most else most
    for used, size, path in found:
        temporary = path.name.startswith(_TEMPORARY)
        if used < time.time() - _STALE if temporary else total > goal:
            with contextlib.suppress(OSError):
                path.unlink()
                total -= size
    with contextlib.suppress(OSError):
        os.truncate(base / _SIZE, -(-total // _UNIT))


def _entries(base: Path) -> Iterator[tuple[float, int, Path]]:
    """When it was last used, bytes, and path of every file under `base`."""
    for parent, _, names in os.walk(base):
        for name in names:
            if name == _SIZE:
                continue
            path = Path(parent, name)
            with contextlib.suppress(OSError):  # another process may remove it
                status = path.stat()
                yield status.st_mtime, status.st_size, path


def usage() -> dict[str, tuple[int, int]]:
    """By kind: number of entries, and bytes."""
    found: dict[str, tuple[int, int]] = {}
    for _, size, path in _entries(root()):
        kind = path.relative_to(root()).parts[0]
        count, total = found.get(kind, (0, 0))
        found[kind] = count + 1, total + size
    return dict(sorted(found.items()))


def clear(kinds: Iterable[str]) -> int:
    """Remove all entries of these kinds; bytes that are free now."""
    freed = 0
    for kind in kinds:
        for _, size, path in list(_entries(folder(kind))):
            with contextlib.suppress(OSError):
                path.unlink()
                freed += size
    return freed


def _digest(path: Path, *data: bytes | memoryview) -> bytes:
    """Of the entry as it is named: whole bytes under another name are as wrong as damaged ones."""
    found = hashlib.sha256(os.fsencode(f"{path.parent.name}/{path.name}\0"))
    for part in data:
        found.update(part)
    return found.hexdigest().encode()
