"""The file of a kernel: its text, and the kernels that it holds."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from pathlib import Path

from ..base.bounded_read import Folders, read_bytes
from ..base.errors import AdrenoSimError
from ..base.text.spelling import decode
from .model import LaunchSpec


def read_source(path: Path, below: Folders = None) -> str:
    """The text of a kernel's file, whose comments may be in any encoding. below: folders; the file must be in one of them. Raises
    AdrenoSimError."""
    try:
        data = read_bytes(path, below=below)
    except OSError as error:
        raise AdrenoSimError(f"{path}: cannot be read: {error.strerror or error}") from None
    if b"\0" in data:
        what = "text in UTF-16: save it in UTF-8" if _is_utf16(data) else "it holds zero bytes, as no text does"
        raise AdrenoSimError(f"{path}: not OpenCL C: {what}")
    return decode(data)


def _is_utf16(data: bytes) -> bool:
    """Whether the data are text in UTF-16, with the mark of its byte order."""
    if not data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return False
    try:
        return "\0" not in data.decode("utf-16")
    except UnicodeDecodeError:
        return False


def read_launch_source(spec: LaunchSpec, given: Path | None) -> tuple[Path, str]:
    """The file of a launch's kernel, and its text. given: the file that the command line names; None for the launch file's.
    Raises AdrenoSimError."""
    if given is not None:
        return given, read_source(given)
    if spec.source is None:
        raise AdrenoSimError(f"{spec.file}: source: missing: expected the kernel's file, here or on the command line")
    try:
        return spec.source, read_source(spec.source, None if spec.below is None else [spec.below])
    except AdrenoSimError as error:
        raise AdrenoSimError(f"{spec.file}: source: {error}") from None


def choose_kernel(spec: LaunchSpec, names: Sequence[str], path: Path) -> str:
    """The kernel that a launch file means, of those in the file `path`. Raises AdrenoSimError."""
    require_kernels(names, path)
    chosen = spec.kernel or (names[0] if len(names) == 1 else "")
    if chosen not in names:
        said = f"got {chosen!r}" if chosen else "missing"
        raise AdrenoSimError(f"{spec.file}: kernel: {said}: the kernels of {path} are {', '.join(names)}")
    return chosen


def require_kernels(names: Sequence[str], path: Path) -> None:
    """Raise AdrenoSimError if the file `path` has no kernel."""
    if not names:
        raise AdrenoSimError(f"{path}: no kernel in it: expected a function that begins with kernel or __kernel")


def require_regular_file(path: Path) -> None:
    """Raise AdrenoSimError for a pipe or a device. Launch files that are written for a kernel name its file, to read it later."""
    if not path.is_file():
        raise AdrenoSimError(f"{path}: a pipe or a device: expected a file, which a launch file can name (with --launch, any)")
