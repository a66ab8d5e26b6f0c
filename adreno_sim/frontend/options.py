"""Build options of clBuildProgram: what is accepted, what reaches clang (OpenCL API 3.0, section 5.8.6)."""

from __future__ import annotations

import shlex
from collections.abc import Collection

from ..base.errors import DeviceError
from ..records import dataclass

_STANDARDS = {"CL1.0": 100, "CL1.1": 110, "CL1.2": 120, "CL2.0": 200, "CL3.0": 300}

_PASSED_ON = {"-cl-single-precision-constant", "-w", "-Werror", "-Wall", "-Wextra"}
"""Options that mean the same to clang."""

_ACCEPTED = {
    "-cl-opt-disable", "-cl-mad-enable", "-cl-no-signed-zeros", "-cl-strict-aliasing", "-cl-uniform-work-group-size",
    "-cl-fp32-correctly-rounded-divide-sqrt", "-cl-kernel-arg-info", "-cl-no-subgroup-ifp", "-g", "-s",
    "-O0", "-O1", "-O2", "-O3", "-create-library", "-enable-link-options",
}  # fmt: skip
"""Licences to be less exact, and requests for what is always there: legal, and without effect on a simulated result."""

_MACROS = {
    "-cl-fast-relaxed-math": ("__FAST_RELAXED_MATH__=1",),
    "-cl-finite-math-only": (),
    "-cl-unsafe-math-optimizations": (),
    "-cl-denorms-are-zero": (),
}
"""Licences that are visible to the source only as a macro."""

_FINITE = frozenset(("-cl-fast-relaxed-math", "-cl-finite-math-only"))
"""Promises that no value is NaN or infinite."""

_RELAXED = frozenset(("-cl-fast-relaxed-math", "-cl-unsafe-math-optimizations"))
"""Licences for arithmetic and functions that are less exact."""

_WITH_VALUE = ("-D", "-U", "-I")
_VENDOR = ("-qcom-sched-rule=", "-qcom-accelerate-16-bit", "-qcom-accelerate-float")
"""Qualcomm's hints to its own scheduler and register allocator."""

_OF_EXTENSION = {"-qcom-enable-large-buffer": "cl_qcom_large_buffer"}
"""Options that come with an extension, without effect on a simulated result: addresses have 64 bits as it is."""


@dataclass(frozen=True)
class BuildOptions:
    """Parsed options: `arguments` for clang, in order; `standard` as in CL_VERSION (200), or None if not asked for.
    finite_math: they promise that no value is NaN or infinite. relaxed_math: they allow floats to be less exact."""

    arguments: tuple[str, ...]
    standard: int | None = None
    finite_math: bool = False
    relaxed_math: bool = False

    @property
    def folders(self) -> tuple[str, ...]:
        """The include folders, as they are spelled."""
        return tuple(word[2:] for word in self.arguments if word.startswith("-I"))


def parse_options(text: str, extensions: Collection[str] | None = None) -> BuildOptions:
    """Split and check an options string for a device with these extensions (None: all).

    Raises DeviceError CL_INVALID_BUILD_OPTIONS on what no driver knows, or this device does not.
    """
    arguments: list[str] = []
    standard: int | None = None
    words = iter(split_options(text))
    for word in words:
        if word[:2] in _WITH_VALUE:
            arguments.append(word[:2] + _take_value(word, words))
        elif word.startswith("-cl-std="):
            standard = _standard(word[len("-cl-std=") :])
        elif word in _PASSED_ON:
            arguments.append(word)
        elif word in _MACROS:
            arguments += ["-D" + macro for macro in _MACROS[word]]
        elif word in _OF_EXTENSION:
            if extensions is not None and _OF_EXTENSION[word] not in extensions:
                raise _invalid(f"{word}: expected a device with {_OF_EXTENSION[word]}, which this one does not list")
        elif word not in _ACCEPTED and not word.startswith(_VENDOR):
            raise _invalid(f"unknown option {word!r}")
    given = frozenset(split_options(text))
    return BuildOptions(tuple(arguments), standard, not _FINITE.isdisjoint(given), not _RELAXED.isdisjoint(given))


def is_known(word: str) -> bool:
    """Whether OpenCL, or Qualcomm's driver, has the option `word`, which has no value of its own."""
    if word.startswith("-cl-std="):
        return word[len("-cl-std=") :] in _STANDARDS
    return word in _PASSED_ON | _ACCEPTED | _MACROS.keys() | _OF_EXTENSION.keys() or word.startswith(_VENDOR)


def include_folders(text: str) -> tuple[str, ...]:
    """Returns the folders of -I in an options string, which may hold options of another driver."""
    words = iter(split_options(text))
    return tuple(_take_value(word, words) for word in words if word.startswith("-I"))


def split_options(text: str) -> list[str]:
    """The words of an options string, quotes read as a shell does. Raises DeviceError CL_INVALID_BUILD_OPTIONS."""
    if "\0" in text:
        raise _invalid("a NUL character in the options")
    try:
        return shlex.split(text)
    except ValueError as error:
        raise _invalid(f"{error} in {text!r}") from None


def _take_value(word: str, words: object) -> str:
    """The value of -D, -U or -I, glued on or the next word."""
    value = word[2:] or next(words, "")  # type: ignore[call-overload]
    if not value or (word[:2] != "-I" and not (value[0].isalpha() or value[0] == "_")):
        raise _invalid(f"{word[:2]} needs a {'folder' if word[:2] == '-I' else 'macro name'}, got {value!r}")
    return str(value)


def _standard(name: str) -> int:
    if name not in _STANDARDS:
        raise _invalid(f"-cl-std={name}: expected one of {', '.join(_STANDARDS)}")
    return _STANDARDS[name]


def _invalid(what: str) -> DeviceError:
    return DeviceError("CL_INVALID_BUILD_OPTIONS", what)
