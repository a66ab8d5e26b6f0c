"""Whether code of others may have changed the TVM of this process: what such a TVM makes is not kept on disk."""

from __future__ import annotations

import re
import sys
import sysconfig
from types import ModuleType

from .installed_files import is_imported

_NAMES_TVM = re.compile(rb"\btvm(_ffi)?\b")
_TRUSTED = ("tvm", "tvm_ffi", "adreno_sim")
"""Packages whose files the key of what is kept covers."""

_touching: dict[str, bool] = {}
"""File of a module -> whether it names TVM. A module is loaded once."""
_executed: list[str] = []


def note_execution(path: str) -> None:
    """Remember that a file of a user ran in this process with TVM, and is not among its modules any more."""
    _executed.append(path)


def may_be_changed() -> bool:
    """Whether this process has TVM, and a module, a program without a file, or an executed file that may have changed it: that
    registered a function, replaced a pass, or entered a context. Code that changes TVM names it, so that files of modules are
    searched for its name; the standard library is not, and this project's own code restores what it changes."""
    if not is_imported():
        return False
    main = sys.modules.get("__main__")
    if _executed or getattr(main, "__file__", None) is None:
        return True
    library = sysconfig.get_paths()["stdlib"] + "/"
    return any(_touches(module, library) for name, module in list(sys.modules.items()) if name.partition(".")[0] not in _TRUSTED)


def _touches(module: ModuleType, library: str) -> bool:
    file = getattr(module, "__file__", None)
    if not isinstance(file, str) or (file.startswith(library) and "/site-packages/" not in file):
        return False
    if module.__name__ != "__main__" and not file.endswith((".py", ".pyc")):
        return False
    if file not in _touching:
        try:
            with open(file, "rb") as opened:
                _touching[file] = _NAMES_TVM.search(opened.read()) is not None
        except OSError:  # of an archive, or deleted: what it holds is not known
            _touching[file] = True
    return _touching[file]
