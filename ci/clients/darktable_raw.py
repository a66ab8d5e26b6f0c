"""darktable-cli on a made-up raw picture, with and without OpenCL: python darktable_raw.py ROOT, where its packages are unpacked.

The frame of 9 pixels is left out: darktable's kernels of the demosaicing read elements there that nothing wrote (level full
names them), so that its two ways differ on any device.
"""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

WIDTH, HEIGHT, BLACK, WHITE = 480, 320, 512, 16383
FRAME, TOLERANCE = 9, 0.01
USED_ALTHOUGH_SLOW = ("--conf", "opencl_checksum=OFF", "--conf", "opencl_scheduling_profile=very fast GPU")
_BYTE, _TEXT, _SHORT, _LONG, _RATIONAL, _SIGNED_RATIONAL = 1, 2, 3, 4, 5, 10


def main(root: Path) -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "raw.dng").write_bytes(make_dng())
        plain = export(root, folder, "cpu", "--disable-opencl")
        ours = export(root, folder, "opencl", *USED_ALTHOUGH_SLOW)
    differ = np.abs(plain - ours).max(-1)[FRAME:-FRAME, FRAME:-FRAME]
    print(
        f"largest difference {differ.max():.2e}, mean {differ.mean():.2e}, of values from {plain.min():.2f} to {plain.max():.2f}"
    )
    return int(not (differ.max() < TOLERANCE and plain.std() > 0.1))


def export(root: Path, folder: Path, name: str, *more: str) -> np.ndarray:
    """The picture that darktable-cli makes of the raw one: (height, width, 3)."""
    libraries = root / "usr/lib/x86_64-linux-gnu"
    home, out = folder / name, folder / f"{name}.pfm"
    home.mkdir()
    paths = [root / "usr/lib", libraries, libraries / "darktable", os.environ.get("LD_LIBRARY_PATH", "")]
    own = {"LD_LIBRARY_PATH": ":".join(map(str, paths)), "HOME": str(home)}
    where = ["--datadir", str(root / "usr/share/darktable"), "--moduledir", str(libraries / "darktable")]
    where += ["--configdir", str(home), "--cachedir", str(home), "--library", ":memory:"]
    command = [str(root / "usr/bin/darktable-cli"), str(folder / "raw.dng"), str(out), "--core", *where, *more]
    subprocess.run(command, env={**os.environ, **own}, check=True)
    with out.open("rb") as file:
        kind, size, order = (file.readline().split() for _ in range(3))
        assert kind == [b"PF"]
        assert float(order[0]) < 0
        return np.frombuffer(file.read(), "<f4").reshape(int(size[1]), int(size[0]), 3)


def make_dng() -> bytes:
    """A raw picture behind a Bayer filter, as a DNG of the smallest number of tags."""
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    colours = np.stack([x / WIDTH, y / HEIGHT, 0.5 + 0.5 * np.sin(x / 29) * np.cos(y / 17)], -1) * 0.8 + 0.1
    seen = np.take_along_axis(colours, np.array([[0, 1], [1, 2]])[y % 2, x % 2][..., None], -1)[..., 0]
    noise = np.random.default_rng(0).normal(0, 60, seen.shape)
    data = (seen * 14000 + noise + BLACK).clip(0, WHITE).astype("<u2").tobytes()
    matrix = (0.9, -0.2, -0.1, -0.4, 1.2, 0.2, -0.1, 0.2, 0.6)
    tags = [
        (254, _LONG, 0), (256, _LONG, WIDTH), (257, _LONG, HEIGHT), (258, _SHORT, 16), (259, _SHORT, 1), (262, _SHORT, 32803),
        (271, _TEXT, "Made"), (272, _TEXT, "Up"), (273, _LONG, 8), (274, _SHORT, 1), (277, _SHORT, 1), (278, _LONG, HEIGHT),
        (279, _LONG, len(data)), (284, _SHORT, 1), (33421, _SHORT, 2, 2), (33422, _BYTE, 0, 1, 1, 2), (50706, _BYTE, 1, 4, 0, 0),
        (50708, _TEXT, "Made Up"), (50714, _SHORT, BLACK), (50717, _LONG, WHITE), (50721, _SIGNED_RATIONAL, *matrix),
        (50728, _RATIONAL, 0.6, 1.0, 0.7), (50778, _SHORT, 21),
    ]  # fmt: skip
    start = 8 + len(data)
    behind = start + 2 + 12 * len(tags) + 4
    table, more = struct.pack("<H", len(tags)), b""
    for tag, kind, *values in tags:
        count, raw = _encode(kind, values)
        if len(raw) > 4:
            raw, more = struct.pack("<I", behind + len(more)), more + raw + bytes(len(raw) % 2)
        table += struct.pack("<HHI", tag, kind, count) + raw.ljust(4, b"\0")
    return b"II*\0" + struct.pack("<I", start) + data + table + bytes(4) + more


def _encode(kind: int, values: list) -> tuple[int, bytes]:
    """How many values, and their bytes."""
    if kind == _TEXT:
        text = values[0].encode() + b"\0"
        return len(text), text
    if kind in (_RATIONAL, _SIGNED_RATIONAL):
        return len(values), b"".join(struct.pack("<ii", round(value * 10000), 10000) for value in values)
    code = {_BYTE: "B", _SHORT: "H", _LONG: "I"}[kind]
    return len(values), struct.pack(f"<{len(values)}{code}", *values)


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))
