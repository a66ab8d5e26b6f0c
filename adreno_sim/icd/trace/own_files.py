"""A recording holds the files that its programs included: a replay reads none of the machine that it runs on."""

from __future__ import annotations

import struct

from ...base.errors import DeviceError
from ...frontend.file_options import replace_folders
from ..messages import Body, MalformedError, encode_list, encode_text


def drop_folders(body: bytes) -> bytes:
    """A BUILD or COMPILE without the include folders among its options; itself if it names none, or cannot be read."""
    read = Body(body)
    try:
        number, source, options = read.number(), read.text(), read.text()
        headers = read.list(lambda: (read.text(), read.text()))
        read.end()
        kept = replace_folders(options, lambda folder: [])
    except (MalformedError, DeviceError):  # the device says what is wrong
        return body
    if kept == options:
        return body
    pairs = encode_list(encode_text(name) + encode_text(text) for name, text in headers)
    return struct.pack("<I", number) + encode_text(source) + encode_text(kept) + pairs
