"""A release from an index: python ci/release/dry_run.py FOLDER VERSION

Serves the wheels of FOLDER as a package index on this machine (PEP 503), lets pip install adreno-sim of that version from it into
a new environment, with its dependencies from the usual index, and runs README's commands for a kernel and for a program there.
"""

from __future__ import annotations

import functools
import html
import http.server
import os
import re
import subprocess
import sys
import tempfile
import threading
import venv
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
FILES = re.compile(r"^```\w+ (shift\.\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
CLIENT = """
import ctypes
opencl, count, name = ctypes.CDLL("libOpenCL.so.1"), ctypes.c_uint(), ctypes.create_string_buffer(100)
assert opencl.clGetPlatformIDs(0, None, ctypes.byref(count)) == 0
platforms = (ctypes.c_void_p * count.value)()
assert opencl.clGetPlatformIDs(count, platforms, None) == 0
assert opencl.clGetPlatformInfo(ctypes.c_void_p(platforms[0]), 0x0902, 100, name, None) == 0
print(name.value.decode())
"""
"""A program that asks for the name of its first OpenCL platform."""


class Command(NamedTuple):
    """A command of README's, its exit code, and a word that it prints."""

    words: tuple[str, ...]
    code: int
    says: str


COMMANDS = (
    Command(("kernel", "shift.cl"), 1, "image-write-out-of-range"),
    Command(("kernel", "shift.cl", "--launch", "shift.toml"), 1, "image-write-out-of-range"),
    Command(("run", "--", sys.executable, "client.py"), 0, "QUALCOMM"),
)


class _Quiet(http.server.SimpleHTTPRequestHandler):
    """pip asks for its dependencies, too, which this index has not."""

    def log_message(self, *_: object) -> None:
        pass


def main() -> int:
    folder, version = Path(sys.argv[1]).resolve(), sys.argv[2]
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        write_index(folder, place / "index")
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=place / "index"))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            venv.create(place / "env", with_pip=True)
            address = f"http://127.0.0.1:{server.server_port}/simple/"
            for command in list_installs(place / "env/bin/python", address, version):
                subprocess.run(command, check=True)
        finally:
            server.shutdown()
        return try_out(place / "env/bin", place)


def list_installs(python: Path, address: str, version: str) -> list[list[str]]:
    """The commands of pip: the project from this index and no other, as the usual one may have its name and version from somebody
    else; then its dependencies from the usual one, which is not asked for what is installed."""
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    wanted = f"adreno-sim=={version}"
    return [[*pip, "--isolated", "--no-deps", "--index-url", address, wanted], [*pip, wanted]]


def write_index(folder: Path, index: Path) -> None:
    """An index of the distributions of adreno-sim in a folder: a page of links, and the files."""
    page = index / "simple" / "adreno-sim"
    page.mkdir(parents=True)
    links = []
    for file in sorted([*folder.glob("*.whl"), *folder.glob("*.tar.gz")]):
        os.symlink(file, page / file.name)
        links.append(f'<a href="{html.escape(file.name)}">{html.escape(file.name)}</a>')
    if not links:
        raise FileNotFoundError(f"{folder}: expected wheels or a source distribution")
    (page / "index.html").write_text("<!doctype html>\n" + "\n".join(links) + "\n", encoding="utf-8")


def try_out(programs: Path, place: Path) -> int:
    """README's commands with the installed package, on its files: 1 unless each ends and says what README says."""
    files = dict(FILES.findall((ROOT / "README.md").read_text(encoding="utf-8")))
    assert set(files) == {"shift.cl", "shift.toml"}, "README has its kernel and the launch file"
    for name, text in {**files, "client.py": CLIENT}.items():
        (place / name).write_text(text, encoding="utf-8")
    environment = {**os.environ, "ADRENO_SIM_CACHE_DIR": str(place / "cache"), "PYTHONPATH": ""}
    for command in COMMANDS:
        asked = subprocess.run(
            [programs / "adreno-sim", *command.words], cwd=place, env=environment, capture_output=True, text=True, check=False
        )
        said = asked.stdout + asked.stderr
        print(said)
        if asked.returncode != command.code or command.says not in said:
            wanted = f"expected exit code {command.code} and {command.says}, got exit code {asked.returncode}"
            print(f"error: adreno-sim {' '.join(command.words)}: {wanted}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
