"""Work that a thread does while the caller goes on with what does not need it: a compiler runs, or machine code."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def begin(work: Callable[..., T], *args: object) -> Future[T]:
    """What `work` returns or raises, once somebody asks. The thread ends with it; the process does not end before."""
    pool = ThreadPoolExecutor(1, thread_name_prefix="reference")
    future = pool.submit(work, *args)
    pool.shutdown(wait=False)
    return future
