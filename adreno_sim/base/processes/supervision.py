"""Run this process's command in a child of it: a library's crash ends only that, and this process says whose it was.

The model's own code runs inside TVM, ONNX Runtime and PyTorch, with their defects. A fork before anything heavy is
loaded costs a millisecond. Unlike `isolation`, the child keeps this process's session, terminal and standard input.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from ..progress import has_ended, note_end, note_steps
from ..text.spelling import spell_line, spell_printed
from .crashes import CRASHES, note_crash
from .parent import end_with


def supervise(run: Callable[[], int], arguments: Sequence[str], end: Callable[[int], object] | None = None) -> int:
    """Returns the exit code of `run`, which runs in a child; both processes return from here, the child unless `end`, which is
    given its code, ends it.

    Where the child crashed, says so in a line on standard error: the code is 3 for a library's crash, 4 for one of this program,
    1 for a device's, 2 where code of the model ended it. A signal that was meant for it ends this process too. arguments: of the
    command line, for the verdict.
    """
    noted, crash = _memory_file("steps"), _memory_file("crash")
    parent = os.getpid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # ignored, it would leave no exit code
    watched = (signal.SIGINT, signal.SIGCHLD)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, watched)
    child = os.fork()
    if child == 0:
        end_with(parent)
        note_crash(crash)
        note_steps(noted)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        own = run()
        note_end()
        if end is not None:
            end(own)
        return own
    code = _wait(child, watched)
    if code >= 0 and has_ended(noted):
        return code
    if code < 0 and -code not in CRASHES:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(parent, -code)
    from .isolation import judge_end

    outcome = judge_end(code, noted, crash, arguments)
    said = outcome.problem or (f"the device crashed: {outcome.finding.message}" if outcome.finding else "")
    if said:
        print(f"error: {spell_printed(spell_line(said))}", file=sys.stderr)
    return outcome.code


def _wait(child: int, watched: Sequence[signal.Signals]) -> int:
    """Returns the child's exit code, or its signal below 0. Ctrl-C reaches both from the terminal; an interrupt that another
    process sends to this one alone is handed on."""
    while True:
        came = signal.sigwaitinfo(watched)
        if came.si_signo == signal.SIGCHLD:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return os.waitstatus_to_exitcode(status)
        elif came.si_code <= 0:  # sent by a process, not by the kernel
            os.kill(child, signal.SIGINT)


def _memory_file(name: str) -> Path:
    """A file of both processes, which is gone when they are."""
    return Path(f"/proc/self/fd/{os.memfd_create(name)}")
