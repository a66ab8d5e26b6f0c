"""Public source archives that hold OpenCL kernels: fetched from package registries at run time, kept in a folder, each pinned by
its SHA-256."""

from __future__ import annotations

import hashlib
import re
import shutil
import tarfile
import tempfile
import urllib.parse
import urllib.request
from dataclasses import dataclass
from pathlib import Path

PYPI = "https://pypi.org/simple"
DEBIAN = "http://deb.debian.org/debian/pool/main"
SECONDS = 120.0
"""The longest wait for a registry's next bytes."""


class ArchiveError(Exception):
    """An archive cannot be had, or is not the one that is pinned."""


@dataclass(frozen=True)
class Archive:
    """name: of the file. place: the package's page of the index, or the archive's folder. wanted: members to unpack, as a
    pattern of their paths below the archive's first folder."""

    name: str
    place: str
    sha256: str
    wanted: str


GGML = Archive(
    "llama_cpp_python-0.3.36.tar.gz",
    f"{PYPI}/llama-cpp-python/",
    "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e",
    r"vendor/llama\.cpp/ggml/src/ggml-opencl/kernels/[^/]+\.cl",
)
OPENCV = Archive(
    "opencv_python-5.0.0.93.tar.gz",
    f"{PYPI}/opencv-python/",
    "66aac3e5b5faa48d4025816592f3af19e4bfc2c68dec067bae2dbb4ca10aa9e2",
    r"opencv/modules/[^/]+/src/opencl/[^/]+\.cl",
)
CLBLAST = Archive(
    "clblast_1.6.3.orig.tar.gz",
    f"{DEBIAN}/c/clblast/",
    "c05668c7461e8440fce48c9f7a8966a6f9e0923421acd7c0357ece9b1d83f20e",
    r"src/(kernels|routines|database/kernels)/.+",
)
DARKTABLE = Archive(
    "darktable_4.2.1.orig.tar.xz",
    f"{DEBIAN}/d/darktable/",
    "603a39c6074291a601f7feb16ebb453fd0c5b02a6f5d3c7ab6db612eadc97bac",
    r"data/kernels/[^/]+",
)


def unpack(archive: Archive, folder: Path) -> Path:
    """The folder with the wanted members of an archive, fetched and unpacked where it is not there. Raises ArchiveError."""
    target = folder / archive.name.split(".tar")[0]
    if target.is_dir():
        return target
    packed = _fetch(archive, folder)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        with tarfile.open(packed) as tar:
            for member in tar:
                path = member.name.partition("/")[2]
                if member.isreg() and re.fullmatch(archive.wanted, path) and ".." not in path.split("/"):
                    found = tar.extractfile(member)
                    assert found is not None
                    place = Path(scratch, "files", path)
                    place.parent.mkdir(parents=True, exist_ok=True)
                    place.write_bytes(found.read())
        if not Path(scratch, "files").is_dir():
            raise ArchiveError(f"{archive.name}: no member is like {archive.wanted}")
        shutil.move(Path(scratch, "files"), target)  # complete or not there
    return target


def _fetch(archive: Archive, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / archive.name
    if not place.is_file():
        try:
            with (
                urllib.request.urlopen(_address(archive), timeout=SECONDS) as answer,
                tempfile.NamedTemporaryFile(dir=folder) as new,
            ):
                shutil.copyfileobj(answer, new)
                new.flush()
                shutil.copyfile(new.name, f"{place}.part")
        except OSError as error:
            raise ArchiveError(f"{archive.name}: {archive.place} does not give it: {error}") from error
        Path(f"{place}.part").rename(place)
    found = hashlib.sha256(place.read_bytes()).hexdigest()
    if found != archive.sha256:
        raise ArchiveError(f"{place}: expected SHA-256 {archive.sha256}, found {found}: remove the file")
    return place


def _address(archive: Archive) -> str:
    """Where the file lies: an index of PyPI names it on the package's page."""
    if not archive.place.startswith(PYPI):
        return archive.place + archive.name
    with urllib.request.urlopen(archive.place, timeout=SECONDS) as answer:
        links = re.findall(r'href="([^"#]+)[^"]*"', answer.read().decode())
    for link in links:
        if link.endswith("/" + archive.name):
            return urllib.parse.urljoin(archive.place, link)
    raise ArchiveError(f"{archive.name}: {archive.place} does not list it")
