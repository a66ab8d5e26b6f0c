"""Debugging sessions of kernels given as text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from adreno_sim.debugger.commands import run_command
from adreno_sim.debugger.open import open_debuggee
from adreno_sim.debugger.session import DebugSession
from adreno_sim.launch_spec.read import read_launch

BUFFER = """
[[argument]]
kind = "buffer"
name = "{name}"
dtype = "{dtype}"
count = {count}
data = "{data}"
"""


def buffer(name: str, count: int, dtype: str = "float32", data: str = "zeros") -> str:
    return BUFFER.format(name=name, count=count, dtype=dtype, data=data)


@contextmanager
def debugging(folder: Path, source: str, size: int, group: int, *arguments: str) -> Iterator[DebugSession]:
    """A session that has not begun."""
    (folder / "k.cl").write_text(source)
    head = f'source = "k.cl"\ndevice = "sim:adreno-750"\nglobal_size = [{size}]\nlocal_size = [{group}]\n'
    (folder / "k.toml").write_text(head + "".join(arguments))
    session = DebugSession(open_debuggee(read_launch(folder / "k.toml")), seconds=30)
    try:
        yield session
    finally:
        session.close()


def say(session: DebugSession, *lines: str) -> list[str]:
    """What the last of some commands shows."""
    shown: list[str] = []
    for line in lines:
        shown = list(run_command(session, line))
    return shown
