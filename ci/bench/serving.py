"""The loop of a child: requests (method, arguments) come on a socket, (done, result or message) goes back."""

from __future__ import annotations

import traceback
from multiprocessing.connection import Connection

from adreno_sim import AdrenoSimError


def serve(worker: object, descriptor: str) -> None:
    """Answer until the other end closes. descriptor: of the socket, inherited, as text."""
    pipe = Connection(int(descriptor))
    while True:
        try:
            method, args = pipe.recv()
        except EOFError:
            return
        try:
            pipe.send((True, getattr(worker, method)(*args)))
        except AdrenoSimError as error:
            pipe.send((False, str(error).splitlines()[0]))
        except Exception as error:
            traceback.print_exc()
            pipe.send((False, f"{type(error).__name__}: {error}"))
