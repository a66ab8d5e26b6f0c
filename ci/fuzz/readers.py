"""Every reader of data as a function of bytes: it returns, or raises an error that is allowed, whatever the bytes are.

What a reader takes as an archive is given as text here: `== NAME` begins a member, so that a fuzzer changes a
member.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import io
import json
import os
import re
import shutil
import struct
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from adreno_sim.backends.open import open_device
from adreno_sim.base.allow import read_file
from adreno_sim.base.errors import AdrenoSimError, show_error
from adreno_sim.base.stored import values
from adreno_sim.compiler.artifact.model import CompiledModel
from adreno_sim.compiler.plan import problem, trace
from adreno_sim.compiler.plan.plan_file import read_plan
from adreno_sim.frontend import program_cache
from adreno_sim.frontend.driver import FrontEndTarget, run_clang
from adreno_sim.frontend.llvm_reader.reader import ModuleReader
from adreno_sim.icd import identity
from adreno_sim.icd.trace.archive import open_session, open_trace
from adreno_sim.icd.trace.events import MAGIC, Event, EventKind, encode_event, read_events
from adreno_sim.launch_spec.read import read_launch
from adreno_sim.profiles.user_profile import load_profile

CORPUS = Path(__file__).parent / "corpus"
_MEMBER = re.compile(rb"^== (.*)\n", re.MULTILINE)


@dataclass(frozen=True)
class Reader:
    """read: takes any bytes. allowed: what it may raise. seeds: bytes to begin with, besides those in `corpus/`."""

    read: Callable[[bytes], None]
    allowed: tuple[type[Exception], ...] = (AdrenoSimError,)
    seeds: Callable[[], list[bytes]] = list


def run(reader: Reader, data: bytes) -> None:
    """Read the bytes. Whatever escapes is a defect, as is an error that takes more than a line."""
    try:
        reader.read(data)
    except reader.allowed as error:
        shown = show_error(error) if isinstance(error, AdrenoSimError) else "one"
        if not shown or "\n" in shown:
            raise AssertionError(f"an error that is not a line: {shown!r}") from error


def seeds_of(name: str) -> list[bytes]:
    """What a run of a reader begins with."""
    kept = sorted((CORPUS / name).iterdir()) if (CORPUS / name).is_dir() else []
    return [*(path.read_bytes() for path in kept), *READERS[name].seeds()]


@cache
def folder() -> Path:
    """A folder for the files of this process, in memory where there is such a folder."""
    found = Path(tempfile.mkdtemp(prefix="adreno-sim-fuzz-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None))
    atexit.register(shutil.rmtree, found, ignore_errors=True)
    (found / "r.py").write_text("")
    return found


def file(name: str, data: bytes) -> Path:
    """A file with these bytes."""
    path = folder() / name
    path.write_bytes(data)
    return path


def archive(data: bytes, digests: bool) -> bytes:
    """The members of a text as a zip archive, with a bundle's digests; bytes that begin as an archive stay unchanged."""
    if data.startswith(b"PK"):
        return data
    parts = _MEMBER.split(data)
    members = {
        name.decode("ascii", "replace")[:100]: text.removesuffix(b"\n")
        for name, text in zip(parts[1::2], parts[2::2], strict=True)
    }
    if digests:
        found = {name: hashlib.sha256(text).hexdigest() for name, text in sorted(members.items())}
        members["digests.json"] = json.dumps(found, indent=1).encode()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as made:
        for name, text in members.items():
            made.writestr(zipfile.ZipInfo(name), text)
    return out.getvalue()


def unpack(packed: bytes) -> bytes:
    """The text of an archive, from which `archive` makes it again."""
    with zipfile.ZipFile(io.BytesIO(packed)) as opened:
        names = [name for name in opened.namelist() if name != "digests.json"]
        return b"".join(b"== " + name.encode() + b"\n" + opened.read(name) + b"\n" for name in names)


def _bundle(data: bytes) -> None:
    CompiledModel.load(file("m.asim", archive(data, digests=True)))


def _bundle_seeds() -> list[bytes]:
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
    import handmade

    found = []
    for make in (handmade.branch, handmade.texture, handmade.calls, handmade.symbolic):
        make().save(folder() / "seed.asim")
        found.append(unpack((folder() / "seed.asim").read_bytes()))
    return found


def _recording(data: bytes) -> None:
    with open_trace(file("t.asim", archive(data, digests=False))) as (found, opened):
        for session in found.sessions:
            try:
                with open_session(opened, session) as stream:
                    _drain(read_events(stream))
            except ValueError:  # `replay` makes a line of it
                return


def _recording_seeds() -> list[bytes]:
    head = {"format": 2, "command": ["x"], "device": "sim:adreno-740", "checks": "full",
            "sessions": [{"program": "x", "pid": 1, "member": "session-0"}]}  # fmt: skip
    return [b"== trace.json\n" + json.dumps(head).encode() + b"\n== session-0\n" + events for events in _event_seeds()]


def _drain(events: Iterator[Event | None]) -> None:
    for _ in events:
        pass


def _event_seeds() -> list[bytes]:
    bodies = [struct.pack("<15Q", 2, 4, *[0] * 13), b"\0" * 600, b"kernel void f(global int *a) { a[0] = 1; }"]
    events = [encode_event(Event(kind, body, 1, 2, 3)) for kind in EventKind for body in bodies]
    return [MAGIC + b"".join(events[start : start + 4]) for start in range(0, len(events), 4)]


def _profile(name: str) -> Callable[[bytes], None]:
    def read(data: bytes) -> None:
        found = load_profile(str(file(name, data)))
        identity.platform_answers(found)
        identity.device_answers(found)

    return read


def _plan(data: bytes) -> None:
    problem.from_plan(read_plan(file("plan.json", data)))


def _llvm(data: bytes) -> None:
    reader = ModuleReader(data.decode("utf-8", "surrogateescape"))
    for name in reader.functions:
        reader.read(name)


_SOURCES = (
    "kernel void f(global float *a, int n) { for (int i = 0; i < n; ++i) a[i] = i % 2 ? a[i] * 2.0f : (float)n; }",
    "typedef struct { int2 a; float b[3]; } S; constant S table[2] = {{{1, 2}, {1.0f, 2.0f, 3.0f}}, {{3, 4}, {0.5f}}};\n"
    "float g(S s) { return s.b[s.a.x & 1]; }\n"
    "kernel void f(global S *p, read_only image2d_t i, local half4 *l, int k) { S s = p[get_local_id(0)]; barrier(1);\n"
    "  switch (k) { case 1: s.a.yx += table[k].a; break; case 5: atomic_add((global int *)p, 3); }\n"
    '  p[1] = s; l[0] = convert_half4(read_imagef(i, (int2)(1, k)) + g(s)); printf("%d\\n", k); }',
)


def _llvm_seeds() -> list[bytes]:
    from adreno_sim.frontend.options import parse_options

    return [run_clang(text, parse_options(""), FrontEndTarget(300), as_text=True).text.encode() for text in _SOURCES]


def _device(data: bytes) -> None:
    if len(data) < 4000:  # an environment variable or an argument
        open_device("sim:" + data.decode("utf-8", "surrogateescape").replace("\0", "") + ",checks=bounds")


_KINDS = (program_cache._Stored, dict[str, tuple[int, ...]])


def _stored(data: bytes) -> None:
    for kind in _KINDS:
        with contextlib.suppress(ValueError):  # anything else is not an entry
            values.read_value(kind, memoryview(bytearray(data)))


def _stored_seeds() -> list[bytes]:
    from adreno_sim.frontend.program import compile_source

    made = compile_source("kernel void f(global float *a, int n) { a[get_global_id(0)] = n; }", "", target=FrontEndTarget(300))
    found = program_cache._Stored({name: replace(function, blocks=[]) for name, function in made.kernels.items()}, [])
    return [b"".join(values.write_value(kind, value)) for kind, value in zip(_KINDS, (found, {"a": (1, 2)}), strict=True)]


def _requests(data: bytes) -> None:
    from server_side import answer_request

    answer_request(data)


def _ring(data: bytes) -> None:
    from server_side import run_ring

    run_ring(data)


def _protocol_seeds(name: str) -> Callable[[], list[bytes]]:
    def make() -> list[bytes]:
        import server_side

        return list(getattr(server_side, name)())

    return make


READERS: dict[str, Reader] = {
    "recording": Reader(_recording, seeds=_recording_seeds),
    "bundle": Reader(_bundle, seeds=_bundle_seeds),
    "plan": Reader(_plan),
    "plan-trace": Reader(lambda data: trace.read(file("trace.json", data)) and None),
    "profile": Reader(_profile("p.toml")),
    "clinfo": Reader(_profile("p.json")),
    "clinfo-text": Reader(_profile("p.txt")),
    "launch-file": Reader(lambda data: read_launch(file("launch.toml", data)) and None),
    "allow-list": Reader(lambda data: read_file(file("allow.toml", data)) and None),
    "device-string": Reader(_device),
    "stored-value": Reader(_stored, (), _stored_seeds),
    "request": Reader(_requests, seeds=_protocol_seeds("request_seeds")),
    "ring": Reader(_ring, seeds=_protocol_seeds("ring_seeds")),
    "llvm-text": Reader(_llvm, seeds=_llvm_seeds),
}
