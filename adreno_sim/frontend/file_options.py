"""Build options and sources that come in a file: what they may ask of a compiler.

The simulator's own compiler knows OpenCL's options only and sees only the folders that are named. A real driver takes more:
options of its compiler that read files, and any `#include`. What comes in a file is held to OpenCL's options for every device.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable

from ..base.errors import AdrenoSimError, DeviceError
from .file_references import splice
from .options import include_folders, is_known, split_options

_OF_VENDORS = re.compile(r"-(cl|qcom)-[\w-]+(=\w[\w.]*)?")
"""Options of drivers' extensions, as -cl-nv-maxrregcount=32. None of them names a file."""

_VALUED = ("-D", "-U", "-I")

_COMMENT_OR_STRING = re.compile(
    r'/\*.*?(?:\*/|\Z)|//[^\n]*|"(?:\\[^\n]|[^"\\\n])*(?:"|(?=\n)|\Z)|\'(?:\\[^\n]|[^\'\\\n])*(?:\'|(?=\n)|\Z)', re.DOTALL
)
"""As clang takes them: a quote that is not closed ends with its line."""

_REWRITTEN = "__CLANG_REWRITTEN_INCLUDES"
_DEAD = re.compile(
    rf"^#if (?:0|defined\({_REWRITTEN}\))[ \t]*\n#[ \t]*(?:include|include_next|import)\b[^\n]*\n#(?:endif|else)\b"
    r"|^#if 0[ \t]*\n#if\b[^\n]*\n#endif[ \t]*\n#endif\b",
    re.MULTILINE,
)
"""A directive that `inline_files` has replaced, and what it leaves of it."""
_ACCESS = re.compile(
    r"^[ \t\v\f]*(?:#|%:|\?\?=)[ \t\v\f]*(?:include|include_next|import|embed)\b"
    r"|\b(?:__has_include|__has_include_next|__has_embed|asm|__asm|__asm__)\b",
    re.MULTILINE,
)


def replace_folders(options: str, replace: Callable[[str], list[str]]) -> str:
    """The options with each -I of a folder replaced by those of the folders that `replace` gives for it.

    Raises DeviceError CL_INVALID_BUILD_OPTIONS for options that cannot be split into words.
    """
    out: list[str] = []
    changed = False
    words = iter(split_options(options))
    for word in words:
        if word[:2] not in _VALUED:
            out.append(word)
            continue
        glued = len(word) > 2
        value = word[2:] if glued else next(words, None)
        if value is None or word[:2] != "-I":
            if value is not None and value.startswith("-"):
                raise DeviceError("CL_INVALID_BUILD_OPTIONS", f"{word[:2]} needs a macro name, got {value!r}")
            out += [word] if glued or value is None else [word, value]
            continue
        folders = replace(value)
        changed = changed or folders != [value]
        out += [f"-I{folder}" for folder in folders]
    return shlex.join(out) if changed else options


def require_known_options(options: str) -> None:
    """Raise DeviceError CL_INVALID_BUILD_OPTIONS for an option that is neither OpenCL's nor of a known form: a driver's compiler
    may have others, which read files."""
    words = iter(split_options(options))
    for word in words:
        if word[:2] in _VALUED:
            if len(word) == 2:
                next(words, None)
        elif not is_known(word) and not _OF_VENDORS.fullmatch(word):
            raise DeviceError("CL_INVALID_BUILD_OPTIONS", f"{word!r}: expected options of OpenCL, since these come in a file")


def find_file_access(source: str) -> str:
    """The first thing in a source that makes some compiler read another file, "" if there is nothing: a directive or
    assembly, outside comments and strings. What `inline_files` has put in its place is none."""
    text = _COMMENT_OR_STRING.sub(lambda found: " " if found[0].startswith("/") else '""', splice(source))
    dead = re.compile(rf"^#if defined\({_REWRITTEN}\)[ \t]*$", re.MULTILINE)
    if _REWRITTEN in dead.sub("", text):  # somebody may switch the directives on again
        return _REWRITTEN
    found = _ACCESS.search(_DEAD.sub("", text))
    return " ".join(found[0].split()) if found else ""


def require_no_access(source: str, options: str) -> None:
    """Raise AdrenoSimError for a program that comes whole in a file, and whose build may read others."""
    if folders := include_folders(options):
        raise AdrenoSimError(f"build option -I {folders[0]}: expected a program that reads no files")
    require_known_options(options)
    if found := find_file_access("\n".join([source, *split_options(options)])):
        raise AdrenoSimError(f"{found!r}: expected a program that reads no files")
