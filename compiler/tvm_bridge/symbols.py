"""Has TVM read the symbols of this process's libraries beside other work: the trace of its first error needs them.

Importing TVM makes a hundred errors, and catches them. Where Python comes with debug information, the first one takes a third of
the import; that needs no lock of Python's.
"""

from __future__ import annotations

import ctypes
import functools
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from ...base.errors import AdrenoSimError
from ...base.garbage import importing
from .versions import require_tvm


@functools.cache
def begin_reading_symbols() -> threading.Thread | None:
    """The thread that reads them; None where TVM cannot be imported, which whoever imports it says, or does not do it so."""
    with suppress(AdrenoSimError, ImportError, OSError, AttributeError):
        require_tvm()
        with importing():
            import tvm_ffi
        make_trace = tvm_ffi.LIB.TVMFFIBacktrace
        make_trace.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_int]
        make_trace.restype = ctypes.c_void_p
        thread = threading.Thread(target=make_trace, args=(None, 0, None, 0), name="symbols")
        thread.start()
        return thread
    return None


@contextmanager
def reading_symbols() -> Iterator[None]:
    """TVM is imported inside. Behind this a child by fork finds the symbols read, and no thread that holds them."""
    thread = begin_reading_symbols()
    try:
        yield
    finally:
        if thread is not None:
            thread.join()
