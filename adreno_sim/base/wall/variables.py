"""Environment variables: what a CI system hands to every step, and nothing here reads, is not for foreign code to find."""

from __future__ import annotations

import ctypes
import os

KEPT = frozenset((
    "CI", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "FORCE_COLOR", "GITHUB_ACTIONS", "GITLAB_CI", "GLIBC_TUNABLES", "HOME", "LANG",
    "LANGUAGE", "LINES", "LOGNAME", "NO_COLOR", "PATH", "PWD", "SHELL", "SOURCE_DATE_EPOCH", "TEMP", "TERM", "TMP", "TMPDIR",
    "TZ", "USER", "VIRTUAL_ENV",
))  # fmt: skip
KEPT_BEGINNINGS = (
    "ADRENO_", "CLML_", "COVERAGE_", "COV_CORE_", "GOMP_", "GOTO_", "KMP_", "LC_", "LD_", "MALLOC_", "MKL_", "NUMBA_", "OCL_",
    "OMP_",
    "ONNX_", "OPENBLAS_", "OPENCL_", "ORT_", "POCL_", "PYTEST_", "PYTHON", "RICH_", "TVM_", "XDG_",
)  # fmt: skip


SILENT = {"ORT_DISABLE_TELEMETRY": "1"}
"""Keep a library from reporting home, which it could not, and would complain of."""


def is_kept(name: str) -> bool:
    """Whether a variable stays: what Python, its libraries and this program read."""
    return name in KEPT or name.startswith(KEPT_BEGINNINGS)


def forget_others() -> None:
    """Remove the others from this process's environment, and their values from its memory."""
    block = ctypes.POINTER(ctypes.c_void_p).in_dll(ctypes.CDLL(None), "environ")
    number = 0
    while block and (place := block[number]) is not None:
        text = ctypes.string_at(place)
        name, _, value = text.partition(b"=")
        if not is_kept(os.fsdecode(name)):
            ctypes.memset(place + len(name) + 1, 0, len(value))
        number += 1
    for known in [known for known in os.environ if not is_kept(known)]:
        del os.environ[known]
    os.environ.update(SILENT)
