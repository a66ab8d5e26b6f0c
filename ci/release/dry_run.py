"""A release from an index: python ci/release/dry_run.py FOLDER VERSION

Serves the wheels of FOLDER as a package index on this machine (PEP 503), lets pip install adreno-sim of that version from it into
a new environment, with its dependencies from the usual index, and runs README's kernel there.
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

ROOT = Path(__file__).resolve().parents[2]
KERNEL = re.compile(r"^```opencl shift\.cl\n(.*?)^```", re.MULTILINE | re.DOTALL)


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
            pip = [place / "env/bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            subprocess.run([*pip, "--extra-index-url", address, f"adreno-sim=={version}"], check=True)
        finally:
            server.shutdown()
        return try_out(place / "env/bin", place)


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
    """README's kernel with the installed command: 1 unless it finds what README says."""
    kernel = KERNEL.search((ROOT / "README.md").read_text(encoding="utf-8"))
    assert kernel is not None, "README has its kernel shift.cl"
    (place / "shift.cl").write_text(kernel[1], encoding="utf-8")
    environment = {**os.environ, "ADRENO_SIM_CACHE_DIR": str(place / "cache"), "PYTHONPATH": ""}
    asked = subprocess.run(
        [programs / "adreno-sim", "kernel", "shift.cl"], cwd=place, env=environment, capture_output=True, text=True, check=False
    )
    print(asked.stdout + asked.stderr)
    if asked.returncode != 1 or "image-write-out-of-range" not in asked.stdout + asked.stderr:
        print(f"error: expected exit code 1 and a write outside of an image, got exit code {asked.returncode}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
