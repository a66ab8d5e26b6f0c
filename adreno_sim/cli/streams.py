"""Standard streams: closed by a caller, taking nothing any more, or to be kept free of what a library writes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from ..base.text.stream import show_on

_STREAMS = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))


def open_closed_streams() -> None:
    """Open those of descriptors 0 to 2 that are closed: a file opened later would get their number, and what is printed."""
    for number, (name, mode) in enumerate(_STREAMS):
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))


@contextmanager
def hide_library_warnings() -> Iterator[IO[str]]:
    """What is written to descriptor 2 meanwhile is shown if the block raises, and else dropped. Gives the stream to write to."""
    import tempfile

    sys.stderr.flush()
    with os.fdopen(os.dup(2), "w", encoding="utf-8") as kept, tempfile.TemporaryFile() as hidden:
        shown = show_on(kept)
        os.dup2(hidden.fileno(), 2)
        try:
            yield shown
        except Exception:
            sys.stderr.flush()
            hidden.seek(0)
            shown.write(hidden.read().decode("utf-8", "surrogateescape"))
            raise
        finally:
            sys.stderr.flush()
            shown.flush()
            os.dup2(shown.fileno(), 2)


def drop_output() -> None:
    """Let what is still to be printed go nowhere, so that the interpreter ends without its own error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
