"""The debug adapter, driven by a client of its own messages and, where it is installed, by the registry's dap-python."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from debug_sessions import buffer
from test_sessions import ARRAYS, MIRROR

from adreno_sim.debugger.adapter.adapter import run_adapter
from adreno_sim.debugger.adapter.protocol import read_message
from adreno_sim.debugger.open import open_debuggee
from adreno_sim.launch_spec.read import read_launch

HEAD = 'source = "k.cl"\ndevice = "sim:adreno-750"\nglobal_size = [1000]\nlocal_size = [50]\n'


class Client:
    """Sends requests, and waits for responses and events."""

    def __init__(self, target: Any, source: Any):
        self._target, self._source, self._number = target, source, 0
        self.events: list[dict[str, Any]] = []

    def send(self, body: bytes) -> None:
        self._target.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self._target.flush()

    def post(self, command: str, **arguments: Any) -> int:
        self._number += 1
        self.send(json.dumps({"seq": self._number, "type": "request", "command": command, "arguments": arguments}).encode())
        return self._number

    def ask(self, command: str, **arguments: Any) -> dict[str, Any]:
        """The response; events before it are kept."""
        number = self.post(command, **arguments)
        while True:
            message = self._read()
            if message["type"] == "response" and message["request_seq"] == number:
                return message
            self.events.append(message)

    def get(self, command: str, **arguments: Any) -> dict[str, Any]:
        """The body of a response that is one."""
        response = self.ask(command, **arguments)
        assert response["success"], response
        return response.get("body", {})

    def wait(self, event: str) -> dict[str, Any]:
        """The body of the next event of a name."""
        while True:
            while self.events:
                if (found := self.events.pop(0)).get("event") == event:
                    return found["body"]
            self.events.append(self._read())

    def _read(self) -> dict[str, Any]:
        message = read_message(self._source)
        assert message is not None
        return message


@contextmanager
def connected(folder: Path, source: str = MIRROR, *arguments: str) -> Iterator[tuple[Client, list[int]]]:
    """A client of an adapter in this process, and the exit code when it has ended."""
    (folder / "k.cl").write_text(source)
    (folder / "k.toml").write_text(HEAD + "".join(arguments or ARRAYS))
    (here, there), (back, forth) = os.pipe(), os.pipe()
    codes: list[int] = []
    with os.fdopen(here, "rb") as requests, os.fdopen(there, "wb") as write, os.fdopen(back, "rb") as read:

        def serve() -> None:
            with os.fdopen(forth, "wb") as answers:
                codes.append(run_adapter(requests, answers, lambda request: open_debuggee(read_launch(Path(request["launch"])))))

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield Client(write, read), codes
        finally:
            write.close()
            thread.join()


def begin(client: Client, folder: Path, *breakpoints: dict[str, Any], **launch: Any) -> list[dict[str, Any]]:
    """Launches as an editor does. Returns what is said of the breakpoints."""
    assert client.get("initialize", adapterID="adreno-sim")["supportsStepBack"]
    client.get("launch", launch=str(folder / "k.toml"), **launch)
    client.wait("initialized")
    said = client.get("setBreakpoints", source={"path": str(folder / "k.cl")}, breakpoints=list(breakpoints))["breakpoints"]
    client.get("setExceptionBreakpoints", filters=["finding"])
    client.get("configurationDone")
    return said


def variables(client: Client, frame: int, scope: str) -> dict[str, dict[str, Any]]:
    scopes = {one["name"]: one["variablesReference"] for one in client.get("scopes", frameId=frame)["scopes"]}
    return {one["name"]: one for one in client.get("variables", variablesReference=scopes[scope])["variables"]}


def test_a_wrong_value_is_traced_back(tmp_path):
    with connected(tmp_path) as (client, codes):
        begin(client, tmp_path)
        assert client.wait("stopped")["description"] == "the launch has ended"
        assert client.get("evaluate", expression="out[751]", context="watch")["result"] == "498.0"
        told = client.get("evaluate", expression="who out[751]", context="repl")["result"].splitlines()
        assert "work-item (249) made it 498.0" in told[3]
        moment = told[3].split()[1].rstrip(":")
        client.get("evaluate", expression=f"goto {moment}", context="repl")
        thread = client.wait("stopped")["threadId"]
        names = {one["id"]: one["name"] for one in client.get("threads")["threads"]}
        assert len(names) == 50
        assert names[thread] == "work-item (249)"
        frame = client.get("stackTrace", threadId=thread)["stackFrames"][0]
        assert (frame["name"], frame["line"], frame["source"]["path"]) == ("mirror", 11, str(tmp_path / "k.cl"))
        assert variables(client, frame["id"], "Variables")["j"]["value"] == "751"
        for line in (11, 10):
            client.get("stepBack", threadId=thread)
            client.wait("stopped")
            frame = client.get("stackTrace", threadId=thread)["stackFrames"][0]
            assert frame["line"] == line
        assert variables(client, frame["id"], "Variables")["j"]["value"] == "750"
        client.get("disconnect")
    assert codes == [0]


def test_breakpoints_steps_and_helpers(tmp_path):
    with connected(tmp_path) as (client, _):
        said = begin(client, tmp_path, {"line": 2, "condition": "v == 7"}, {"line": 99}, {"line": 9, "condition": "1 +"})
        assert [one["verified"] for one in said] == [True, False, False]
        assert "expected a value" in said[2]["message"]
        stop = client.wait("stopped")
        assert (stop["reason"], stop["threadId"], stop["allThreadsStopped"]) == ("breakpoint", 8, True)
        frames = client.get("stackTrace", threadId=8)["stackFrames"]
        assert [(frame["name"], frame["line"]) for frame in frames] == [("twice", 2), ("mirror", 11)]
        assert client.get("evaluate", expression="i + j", frameId=frames[1]["id"])["result"] == "999"
        assert variables(client, frames[0]["id"], "Variables")["r"]["value"] == "(r has no value yet)"
        shared = variables(client, frames[0]["id"], "Shared")
        assert shared["in"]["indexedVariables"] == 1000
        part = client.get("variables", variablesReference=shared["in"]["variablesReference"], start=5, count=2)["variables"]
        assert [(one["name"], one["value"], one["evaluateName"]) for one in part] == [
            ("[5]", "5.0", "in[5]"),
            ("[6]", "6.0", "in[6]"),
        ]
        for request, line in (("stepOut", 12), ("next", 7), ("next", 8), ("stepBack", 7)):
            client.get(request, threadId=8)
            client.wait("stopped")
            thread = client.get("threads")["threads"][8]["id"] if request == "next" or line == 7 else 8
            assert client.get("stackTrace", threadId=thread)["stackFrames"][0]["line"] == line
        client.get("reverseContinue", threadId=8)
        assert client.wait("stopped")["threadId"] == 8
        client.get("setBreakpoints", source={"path": str(tmp_path / "k.cl")}, breakpoints=[])
        client.get("continue", threadId=8)
        assert client.wait("stopped")["description"] == "the launch has ended"
        client.get("continue", threadId=1)
        client.wait("terminated")


def test_a_finding_stops_and_a_pause_too(tmp_path):
    source = "kernel void k(global volatile int *a) {\n  a[1] = 1;\n  a[0] = 1;\n  while (a[0] == 1)\n    a[0] = 1;\n}\n"
    with connected(tmp_path, source, buffer("a", 1, "int32")) as (client, _):
        begin(client, tmp_path, stopOnEntry=True)
        assert client.wait("stopped")["reason"] == "entry"
        client.get("continue", threadId=1)
        assert client.wait("stopped")["reason"] == "exception"
        assert client.get("exceptionInfo", threadId=1)["description"].startswith("finding out-of-bounds-")
        client.get("setExceptionBreakpoints", filters=[])
        client.get("continue", threadId=1)
        client.get("pause", threadId=1)
        assert client.wait("stopped")["reason"] == "pause"
        assert client.get("stackTrace", threadId=1)["stackFrames"][0]["line"] in (3, 4, 5)


def test_what_makes_no_sense_is_answered(tmp_path):
    with connected(tmp_path) as (client, _):
        for command, arguments in {
            "threads": {}, "next": {"threadId": 1}, "variables": {"variablesReference": 1}, "fly": {}, "__class__": {},
            "launch": {"launch": str(tmp_path / "none.toml")},
        }.items():  # fmt: skip
            response = client.ask(command, **arguments)
            assert not response["success"], command
            assert response["message"], command
        begin(client, tmp_path, {"line": 9})
        client.wait("stopped")
        for command, arguments in {
            "stackTrace": {"threadId": 51}, "scopes": {"frameId": 1 << 30}, "evaluate": {"expression": "nothing"},
            "setBreakpoints": {}, "variables": {"variablesReference": 999}, "launch": {"launch": str(tmp_path / "k.toml")},
        }.items():  # fmt: skip
            response = client.ask(command, **arguments)
            assert not response["success"], command
            assert response["message"], command


@pytest.mark.parametrize(
    "data",
    [
        b"hello\r\n\r\n",
        b"Content-Length: 99999999\r\n\r\n",
        b"Content-Length: 4\r\n\r\n1234",
        b"Content-Length: 3\r\n\r\n{]}",
        b"x" * 5000,
    ],
)
def test_what_is_no_message_ends_the_adapter(tmp_path, data):
    with connected(tmp_path) as (client, codes):
        client._target.write(data)
        client._target.flush()
        assert client.wait("output")["category"] == "stderr"
    assert codes == [2]


def test_the_command_serves_a_client_of_the_registry(tmp_path):
    """`adreno-sim debug --dap`, as an editor starts it; dap-python's models of the protocol check what it answers.

    Its models of answers without a body want one with a whole response in it: those it cannot read. It cannot send its own types.
    """
    dap = pytest.importorskip("dap", reason="dap-python, of the extra dap")
    from pydantic import ValidationError

    (tmp_path / "k.cl").write_text(MIRROR)
    (tmp_path / "k.toml").write_text(HEAD + "".join(ARRAYS))
    command = [sys.executable, "-m", "adreno_sim", "debug", "--dap", "--launch", "k.toml"]
    process = subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    client, heard = dap.Client("adreno-sim"), []

    def receive(data: bytes) -> None:
        while True:
            try:
                heard.extend(client.receive(data))
                return
            except ValidationError as error:
                assert error.title in ("LaunchDone", "ConfigurationDone", "StepBackDone"), error
                data = b""

    def wait(kind: str) -> Any:
        while True:
            for number, message in enumerate(heard):
                if type(message).__name__ == kind:
                    return heard.pop(number)
            process.stdin.write(client.send())
            process.stdin.flush()
            data = os.read(process.stdout.fileno(), 1 << 16)
            assert data, f"no {kind}"
            receive(data)

    try:
        assert wait("Initialized").supportsStepBack
        client.send_request("launch", {})
        wait("InitializedEvent")
        client.set_breakpoints({"path": str(tmp_path / "k.cl")}, [{"line": 10}])
        assert wait("SetBreakpointsResponse").breakpoints[0].verified
        client.configuration_done()
        thread = wait("StoppedEvent").threadId
        client.threads()
        assert len(wait("ThreadsResponse").threads) == 50
        client.stack_trace(thread)
        frame = wait("StackTraceResponse").stackFrames[0]
        assert frame.line == 10
        client.evaluate("j", frame.id)
        assert wait("EvaluateResponse").result == "750"
        client.scopes(frame.id)
        client.variables(wait("ScopesResponse").scopes[0].variablesReference)
        assert {one.name: one.value for one in wait("VariablesResponse").variables}["i"] == "249"
        client.step_back(thread)
        wait("StoppedEvent")
        client.stack_trace(thread)
        assert wait("StackTraceResponse").stackFrames[0].line == 9
        client.disconnect()
        process.stdin.write(client.send())
        process.stdin.flush()
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.communicate()
