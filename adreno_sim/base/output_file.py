"""Files that a user names as outputs: a regular file appears complete or not at all, anything else is written through.

A regular file is written without a name where the file system can do that, else under another name in the same folder, and
flushed to the disk before it takes its own: a full disk or a killed process leaves the old one whole, and nothing beside it
(except for a moment when it replaces one). Links are followed, also to a path where nothing is yet. A file that exists keeps its
mode, and its owner where this process may set it; a new one gets the mode that the umask leaves. Devices, FIFOs and the files
under /proc, as /dev/stdout leads to, are never replaced: they stay what they are.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING

from .errors import AdrenoSimError
from .text.spelling import encode
from .wall.plain_copy import copy_plain

if TYPE_CHECKING:
    from .wall.outputs import Keeper

keeper: Keeper | None = None
"""Behind the sandbox's wall: who writes the outputs that the command line names, since this process cannot."""

_DESCRIPTORS = Path("/proc/self/fd")
_LINKS = 40
"""As many links as Linux follows."""


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write `text` in UTF-8 to `path`, as open_output does; what UTF-8 cannot hold is spelled."""
    write_bytes(path, encode(text))


def write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Write `data` to `path`, as open_output does."""
    with open_output(path) as file:
        file.write(data)


@contextlib.contextmanager
def open_output(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A binary file that becomes `path` when the block ends without an error. Raises AdrenoSimError if it cannot."""
    try:
        target = _resolve(path)
        if keeper is not None and keeper.keeps(path) and not _is_written_through(target):
            with keeper.opened(path) as file:
                yield file
            return
        with _written_through(target) if _is_written_through(target) else replacing(target) as file:
            yield file
    except OSError as error:
        raise AdrenoSimError(f"cannot write {path}: {error.strerror or error}") from error


def place_folder(made: Path, target: Path, within: Path | None = None) -> None:
    """Copy a folder of files and folders to where none lies, or an empty one: it appears complete or not at all. Raises
    AdrenoSimError, also for a link in it, and if it is not below `within`: who copies may read more than who asks."""
    if keeper is not None and keeper.keeps(target):
        keeper.place_folder(made, target)
        return
    temporary = target.resolve().with_name(f".adreno-sim-{os.urandom(8).hex()}")
    try:
        copy_plain(made, temporary, made if within is None else within)
        if target.exists():
            _set_mode(temporary, target.stat().st_mode)
        os.replace(temporary, target.resolve())
    except (OSError, shutil.Error) as error:
        raise AdrenoSimError(f"cannot write {target}: {getattr(error, 'strerror', None) or error}") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _set_mode(folder: Path, mode: int) -> None:
    """Sets the mode of a folder that is open: behind the wall chmod by name is refused."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fchmod(descriptor, stat.S_IMODE(mode))
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def replacing(
    target: Path, mode: int = 0o666, prefix: str = ".adreno-sim-", sync: bool = True, anew: bool = False
) -> Iterator[IO[bytes]]:
    """A binary file beside `target`, a regular file or none, whose name it takes at the end. Raises OSError.

    mode: of a new file, less the umask; prefix: of the name that it has meanwhile; sync: flush it to the disk before.
    anew: whatever mode and owner the old file had.
    """
    temporary = target.with_name(prefix + os.urandom(8).hex())
    descriptor, named = _create(temporary, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            if not anew:
                _keep_status(target, descriptor)
            if sync:
                os.fsync(descriptor)
            if not named and _gave_name(descriptor, target):
                return  # it never had another: whoever is killed here leaves nothing beside it
            if not named:
                _give_name(descriptor, temporary)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def _give_name(descriptor: int, path: Path) -> None:
    """Name a file that has no name. Raises OSError, FileExistsError if another file has that one."""
    os.link(_DESCRIPTORS / str(descriptor), path, src_dir_fd=descriptor)  # which follows the link


def _gave_name(descriptor: int, path: Path) -> bool:
    """Whether the file without a name now has this one, which another file may have. Raises OSError."""
    try:
        _give_name(descriptor, path)
    except FileExistsError:
        return False
    return True


def _create(path: Path, mode: int) -> tuple[int, bool]:
    """A new file for writing in the folder of `path`, and whether it has that name: else it has none. Raises OSError."""
    if _DESCRIPTORS.is_dir():
        with contextlib.suppress(OSError):  # not every file system has files without a name
            return os.open(path.parent, os.O_WRONLY | os.O_TMPFILE | os.O_CLOEXEC, mode), False
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode), True


def find_obstacle(path: str | os.PathLike[str]) -> str:
    """Why `path` cannot be written, as far as that is known without doing it; "" if nothing is in the way."""
    try:
        target = _resolve(path)
    except OSError as error:
        return error.strerror or str(error)
    if target.is_dir():
        return "is a folder"
    exists = target.exists()
    if not exists and _is_of_process(target):
        return "does not exist"
    if exists and not os.access(target, os.W_OK):
        return "is not writable"
    if exists and _is_written_through(target):
        return ""
    if not target.parent.is_dir() or not os.access(target.parent, os.W_OK):
        return f"folder {target.parent if os.path.islink(path) else Path(path).parent} does not exist or is not writable"
    return ""


def identify(path: str | os.PathLike[str]) -> object:
    """Equal for two paths that lead to the same file, also where none lies yet; None for what takes both: a device, a pipe."""
    try:
        target = _resolve(path)
        if _is_written_through(target):
            return None
        status = target.stat()
    except FileNotFoundError:
        return target
    except OSError:
        return Path(path)
    return status.st_dev, status.st_ino


def _resolve(path: str | os.PathLike[str]) -> Path:
    """What `path` leads to; a link under /proc stays unchanged, since what it names may be no path (a pipe, a removed file)."""
    target = Path(path)
    for _ in range(_LINKS):
        target = Path(os.path.realpath(target.parent), target.name)
        if not target.is_symlink() or _is_of_process(target):
            return target
        target = target.parent / os.readlink(target)
    raise OSError(f"more than {_LINKS} links")


def _is_of_process(target: Path) -> bool:
    return target.parts[:2] == ("/", "proc")


def _is_written_through(target: Path) -> bool:
    try:
        return _is_of_process(target) or not stat.S_ISREG(target.stat().st_mode)
    except FileNotFoundError:
        return False


def _written_through(target: Path) -> IO[bytes]:
    """`target` opened unchanged; a descriptor of this process's own goes on at its position, behind what was printed."""
    number = _own_descriptor(target)
    if number is None:
        return open(os.open(target, os.O_WRONLY | os.O_TRUNC | os.O_NOCTTY | os.O_CLOEXEC), "wb")
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    return open(os.dup(number), "wb")


def _own_descriptor(target: Path) -> int | None:
    """N for /proc/self/fd/N."""
    mine = target.parts[2:3] == (str(os.getpid()),) and target.parent.name == "fd"
    return int(target.name) if mine and target.name.isdigit() else None


def _keep_status(target: Path, descriptor: int) -> None:
    """Give a file that replaces another the other's owner, where that is allowed, and its mode."""
    try:
        old = target.stat()
    except FileNotFoundError:
        return
    new = os.fstat(descriptor)
    if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
        with contextlib.suppress(PermissionError):
            os.fchown(descriptor, old.st_uid, old.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(old.st_mode))
