"""Messages of the Debug Adapter Protocol: JSON behind a header with its length."""

from __future__ import annotations

import json
import threading
from typing import Any, BinaryIO

from ...base.text.spelling import spell_lines

LONGEST = 1 << 22
"""Bytes of a message that is read."""
_LONGEST_HEADER = 4096

Message = dict[str, Any]


class ProtocolError(Exception):
    """A client sent something else than a message. The text says why; nothing behind it can be read."""


def read_message(source: BinaryIO) -> Message | None:
    """Reads the next message; None at the end. ProtocolError for what is none."""
    length = None
    while True:
        line = source.readline(_LONGEST_HEADER)
        if not line:
            return None
        if not line.endswith(b"\n"):
            raise ProtocolError(f"a header of {len(line)} bytes without an end")
        name, colon, value = line.strip().partition(b":")
        if not name:
            break
        if not colon:
            raise ProtocolError(f"expected Content-Length: N, got {line[:60]!r}")
        if name.lower() == b"content-length":
            digits = value.strip()
            if not digits.isdigit() or len(digits) > 9 or int(digits) > LONGEST:
                raise ProtocolError(f"Content-Length: expected at most {LONGEST} bytes, got {digits[:20]!r}")
            length = int(digits)
    if length is None:
        raise ProtocolError("a message without Content-Length")
    body = b""
    while len(body) < length:
        part = source.read(length - len(body))  # of a pipe without a buffer, what is there
        if not part:
            return None
        body += part
    try:
        message = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"a message that is not JSON: {error}") from None
    if not isinstance(message, dict):
        raise ProtocolError("a message that is not a JSON object")
    return message


class Sender:
    """Sends responses and events. Several threads may."""

    def __init__(self, target: BinaryIO):
        self._target, self._number, self._lock = target, 0, threading.Lock()

    def send_event(self, name: str, **body: Any) -> None:
        self._send({"type": "event", "event": name, "body": body})

    def send_output(self, text: str, category: str = "console") -> None:
        """Has the client show a text."""
        self.send_event("output", category=category, output=spell_lines(text) + "\n")

    def respond(self, request: Message, body: Message | None = None, error: str = "") -> None:
        """Answers a request; error: why there is no result."""
        answer: Message = {"type": "response", "request_seq": request.get("seq", 0), "success": not error}
        answer["command"] = request.get("command", "")
        if error:
            answer |= {
                "message": spell_lines(error),
                "body": {"error": {"id": 1, "format": spell_lines(error), "showUser": True}},
            }
        else:
            answer["body"] = body or {}
        self._send(answer)

    def _send(self, message: Message) -> None:
        with self._lock:
            self._number += 1
            data = json.dumps({"seq": self._number, **message}, ensure_ascii=True).encode()
            self._target.write(b"Content-Length: %d\r\n\r\n%s" % (len(data), data))
            self._target.flush()
