"""Answers a client's requests. Work-items of the group that runs are threads, helpers that they are in are stack frames."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from ...base.errors import AdrenoSimError, show_error
from ..breakpoints import Wanted
from ..commands import run_command
from ..expressions import parse
from ..frames import Frame
from ..open import Debuggee
from ..session import DebugSession
from ..shown import where_it_stands
from ..values import DebugError
from .protocol import Message, ProtocolError, Sender, read_message
from .variables import Unfolded, scopes_of

_DEPTH = 128
"""Frames of a work-item, at most: calls within one another are fewer."""
_FINDING = "finding"
_FEATURES = (
    "supportsConfigurationDoneRequest", "supportsConditionalBreakpoints", "supportsStepBack", "supportsEvaluateForHovers",
    "supportsRestartRequest", "supportsTerminateRequest", "supportsExceptionInfoRequest",
)  # fmt: skip
_STOPPING = ("pause", "disconnect", "terminate")

Open = Callable[[Mapping[str, Any]], Debuggee]
"""Opens what the request `launch` names. AdrenoSimError if it cannot be."""


class Adapter:
    """One client's session."""

    def __init__(self, sender: Sender, open: Open):
        self._sender, self._open = sender, open
        self._session: DebugSession | None = None
        self._unfolded: Unfolded | None = None
        self._stops_at_entry = False
        self._of_source: dict[str, list[int]] = {}
        self._findings: int | None = None
        self.done = False

    @property
    def session(self) -> DebugSession:
        """DebugError before the launch is there."""
        if self._session is None:
            raise DebugError("nothing is launched yet")
        return self._session

    def interrupt(self) -> None:
        """Stops the launch where it is. Another thread calls this."""
        if self._session is not None:
            self._session.run.interrupt()

    def close(self) -> None:
        """Ends the launch."""
        if self._session is not None:
            self._session.close()

    def handle(self, request: Message) -> None:
        """Answers a request, and does what it asks for."""
        command, arguments = request.get("command"), request.get("arguments") or {}
        handler = getattr(self, f"_on_{command}", None) if isinstance(command, str) and command.isalpha() else None
        if handler is None or not isinstance(arguments, dict):
            self._sender.respond(request, error=f"{command!r:.60}: no request that this adapter knows")
            return
        then = None
        try:
            answer = handler(arguments)
            body, then = answer if isinstance(answer, tuple) else (answer, None)
        except (DebugError, ProtocolError) as error:
            self._sender.respond(request, error=str(error))
            return
        except AdrenoSimError as error:
            self._sender.respond(request, error=show_error(error))
            return
        self._sender.respond(request, body)
        if then is not None:
            try:
                then()
            except DebugError as error:
                self._sender.send_output(f"error: {error}", "stderr")
                self._tell_stop("pause")

    # Beginning and end

    def _on_initialize(self, arguments: Message) -> Message:
        filter = {"filter": _FINDING, "label": "Findings of the simulator", "default": True}
        return {**dict.fromkeys(_FEATURES, True), "exceptionBreakpointFilters": [filter]}

    def _on_launch(self, arguments: Message) -> Any:
        if self._session is not None:
            raise DebugError("the session has its launch already")
        self._session = DebugSession(self._open(arguments))
        self._session.seconds = None
        self._unfolded = Unfolded(self._session)
        self._stops_at_entry = arguments.get("stopOnEntry") is True
        return None, lambda: self._sender.send_event("initialized")

    def _on_configurationDone(self, arguments: Message) -> Any:
        self.session.restart()
        return None, self._begin

    def _on_restart(self, arguments: Message) -> Any:
        self.session.restart()
        return None, self._begin

    def _begin(self) -> None:
        if self._stops_at_entry:
            self._move(DebugSession.step, "entry")
        else:
            self._move(DebugSession.resume, "breakpoint")

    def _on_disconnect(self, arguments: Message) -> None:
        self.done = True

    def _on_terminate(self, arguments: Message) -> Any:
        return None, lambda: self._sender.send_event("terminated")

    # Breakpoints

    def _on_setBreakpoints(self, arguments: Message) -> Message:
        source = _text(_table(arguments, "source"), "path")
        wanted = arguments.get("breakpoints") or []
        if not isinstance(wanted, list):
            raise DebugError("breakpoints: expected a list")
        for number in self._of_source.pop(source, []):
            self.session.delete_breakpoint(number)
        own = self._of_source.setdefault(source, [])
        file = "" if _same_file(source, self.session.debuggee.path) else source
        return {"breakpoints": [self._add_breakpoint(file, one, own) for one in wanted]}

    def _add_breakpoint(self, file: str, wanted: Any, own: list[int]) -> Message:
        try:
            if not isinstance(wanted, dict):
                raise DebugError("expected an object")
            line, condition = _whole(wanted, "line"), str(wanted.get("condition") or "")
            expression = parse(condition) if condition else None
            made = self.session.add_breakpoint(Wanted(file, line, False, (), expression, f"{line}"))
        except DebugError as error:
            return {"verified": False, "message": str(error)}
        own.append(made.number)
        return {"id": made.number, "verified": True, "line": made.line}

    def _on_setExceptionBreakpoints(self, arguments: Message) -> Message:
        if self._findings is not None:
            self.session.delete_breakpoint(self._findings)
            self._findings = None
        filters = arguments.get("filters")
        if isinstance(filters, list) and _FINDING in filters:
            self._findings = self.session.add_breakpoint(Wanted("", 0, True, (), None, _FINDING)).number
        return {"breakpoints": []}

    def _on_exceptionInfo(self, arguments: Message) -> Message:
        return {"exceptionId": "finding", "description": self.session.reason, "breakMode": "always"}

    # Moving

    def _on_continue(self, arguments: Message) -> Any:
        if self.session.state == "ended":
            return {"allThreadsContinued": True}, lambda: self._sender.send_event("terminated")
        _, then = self._moving(DebugSession.resume, "breakpoint")
        return {"allThreadsContinued": True}, then

    def _on_next(self, arguments: Message) -> Any:
        return self._moving(lambda session: session.step("over"))

    def _on_stepIn(self, arguments: Message) -> Any:
        return self._moving(DebugSession.step)

    def _on_stepOut(self, arguments: Message) -> Any:
        return self._moving(lambda session: session.step("out"))

    def _on_stepBack(self, arguments: Message) -> Any:
        return self._moving(lambda session: session.back(over=True))

    def _on_reverseContinue(self, arguments: Message) -> Any:
        return self._moving(DebugSession.resume_back, "breakpoint")

    def _on_pause(self, arguments: Message) -> None:
        self.session.run.forget_interrupt()

    def _moving(self, move: Callable[[DebugSession], None], why: str = "step") -> tuple[None, Callable[[], None]]:
        """Returns what goes somewhere once the request is answered. DebugError if there is nothing that could go."""
        assert self.session is not None
        return None, lambda: self._move(move, why)

    def _move(self, move: Callable[[DebugSession], None], why: str) -> None:
        move(self.session)
        reason = self.session.reason
        why = "exception" if reason.startswith("finding") else "breakpoint" if reason.startswith("breakpoint") else why
        self._tell_stop("pause" if reason == "interrupted" else why)

    def _tell_stop(self, why: str) -> None:
        """Reports that the launch waits, and at its end also what it found and printed: it can still be inspected, and run
        backwards.
        """
        if self._unfolded is not None:
            self._unfolded.clear()
        session = self.session
        if session.state == "ended":
            self._sender.send_output("\n".join(where_it_stands(session)))
            why = "pause"
        body = {"description": session.reason or "the launch has ended", "threadId": session.run.lane + 1}
        self._sender.send_event("stopped", reason=why, allThreadsStopped=True, **body)

    # Looking

    def _on_threads(self, arguments: Message) -> Message:
        session = self.session
        if session.state != "stopped":
            name = f"kernel {session.launch.kernel.name}, {session.state}"
            return {"threads": [{"id": max(session.run.lane, 0) + 1, "name": name}]}
        group = session.run.group
        ids = (session.grid.global_ids(group, lane) for lane in range(session.grid.items_of(group)))
        return {"threads": [{"id": n, "name": f"work-item {session.grid.show(found)}"} for n, found in enumerate(ids, 1)]}

    def _on_stackTrace(self, arguments: Message) -> Message:
        lane, first, count = self._lane(arguments), _whole(arguments, "startFrame", 0), _whole(arguments, "levels", 0)
        frames = self.session.frames(lane)
        shown = list(enumerate(frames))[first : first + count if count else None]
        return {"stackFrames": [self._frame(lane, depth, frame) for depth, frame in shown], "totalFrames": len(frames)}

    def _frame(self, lane: int, depth: int, frame: Frame) -> Message:
        path = os.path.abspath(frame.file or self.session.debuggee.path)
        source = {"name": os.path.basename(path), "path": path}
        return {"id": lane * _DEPTH + depth + 1, "name": frame.function, "line": frame.line, "column": 1, "source": source}

    def _lane(self, arguments: Message) -> int:
        session = self.session
        lane = _whole(arguments, "threadId") - 1
        if session.state == "stopped" and not 0 <= lane < session.grid.items_of(session.run.group):
            raise DebugError(f"thread {lane + 1}: the group has {session.grid.items_of(session.run.group)} work-items")
        return lane

    def _look_at(self, arguments: Message) -> None:
        """Selects the work-item and the function of a frame's number."""
        number = _whole(arguments, "frameId", 0) - 1
        session = self.session
        if number < 0 or session.state != "stopped":
            session.lane, session.frame = session.run.lane, 0
            return
        lane, depth = divmod(number, _DEPTH)
        if lane >= session.grid.items_of(session.run.group) or depth >= max(1, len(session.frames(lane))):
            raise DebugError(f"frame {number + 1}: the launch has gone on")
        session.lane, session.frame = lane, depth

    def _on_scopes(self, arguments: Message) -> Message:
        self._look_at(arguments)
        scope = self.session.scope()
        assert self._unfolded is not None
        found = [(title, self._unfolded.add(parts, scope)) for title, parts in scopes_of(scope)]
        return {"scopes": [{"name": title, "variablesReference": number, "expensive": False} for title, number in found]}

    def _on_variables(self, arguments: Message) -> Message:
        number = _whole(arguments, "variablesReference")
        start, count = _whole(arguments, "start", 0), _whole(arguments, "count", 0)
        if self._unfolded is None:
            raise DebugError("nothing is launched yet")
        return {"variables": self._unfolded.children(number, start, count)}

    def _on_evaluate(self, arguments: Message) -> Any:
        """An expression; in the console also a command of the terminal."""
        self._look_at(arguments)
        text, session = _text(arguments, "expression"), self.session
        if arguments.get("context") == "repl":
            try:
                expression = parse(text)
            except DebugError:
                expression = None
            if expression is None or text.split()[0] in ("help", "where", "list"):
                return self._command(text)
        else:
            expression = parse(text)
        scope = session.scope()
        assert self._unfolded is not None
        found = self._unfolded.describe(expression.value(scope), scope, text)
        result = found.pop("value")
        return {**found, "result": result}

    def _command(self, text: str) -> Any:
        session = self.session
        before = session.run.count, session.state
        lines = list(run_command(session, text))
        answer = {"result": "\n".join(lines), "variablesReference": 0}
        if (session.run.count, session.state) == before:
            return answer
        return answer, lambda: self._tell_stop("goto")


def run_adapter(source: BinaryIO, target: BinaryIO, open: Open) -> int:
    """Serves one client until it disconnects. Returns the exit code: 2 for one that does not speak the protocol."""
    sender, messages = Sender(target), queue.SimpleQueue[Message | ProtocolError | None]()
    adapter = Adapter(sender, open)

    def read() -> None:
        """Reads on while the launch runs, so that it can be stopped."""
        while True:
            try:
                message = read_message(source)
            except (ProtocolError, OSError, ValueError) as error:
                messages.put(ProtocolError(str(error)))
                adapter.interrupt()
                return
            if message is None or message.get("command") in _STOPPING:
                adapter.interrupt()
            messages.put(message)
            if message is None:
                return

    threading.Thread(target=read, daemon=True, name="requests").start()
    try:
        while not adapter.done:
            message = messages.get()
            if message is None:
                return 0
            if isinstance(message, ProtocolError):
                sender.send_output(f"error: {message}", "stderr")
                return 2
            if message.get("type") == "request":
                adapter.handle(message)
        return 0
    except BrokenPipeError:
        return 0
    finally:
        adapter.close()


def _table(arguments: Message, name: str) -> Message:
    found = arguments.get(name)
    if not isinstance(found, dict):
        raise DebugError(f"{name}: expected an object")
    return found


def _text(arguments: Message, name: str) -> str:
    found = arguments.get(name)
    if not isinstance(found, str):
        raise DebugError(f"{name}: expected a text")
    return found


def _whole(arguments: Message, name: str, default: int | None = None) -> int:
    found = arguments.get(name, default)
    if found is None and default is not None:
        return default
    if not isinstance(found, int) or isinstance(found, bool) or not 0 <= found < 1 << 40:
        raise DebugError(f"{name}: expected a number, got {found!r:.40}")
    return found


def _same_file(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return Path(one).name == Path(other).name and os.path.abspath(one) == os.path.abspath(other)
