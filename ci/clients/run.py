"""Runs each client under `adreno-sim run` and prints a row: how it ended, what ran, and what was found in its kernels."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from adreno_sim.icd.build import build_libraries

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "tests/kernels/corpora"))

from archives import CLBLAST, unpack  # noqa: E402

CHECKS = os.environ.get("ADRENO_SIM_CLIENT_CHECKS", "full")
CASES = os.environ.get("ADRENO_SIM_CLIENT_CASES", "300")
SECONDS = 3600
"""A client that takes longer is stopped."""
PACKAGES = ("tinygrad==0.14.0", "opencv-python-headless==5.0.0.93", "gguf==0.19.0", "numpy")
LLAMA = "llama-cpp-python==0.3.36"
"""Its source distribution holds llama.cpp."""


@dataclass(frozen=True)
class Client:
    """command: makes the words to run. environment: added to this one's. known: tests of it that fail, as docs/driver.md says.
    device: where the default will not do."""

    name: str
    command: Callable[[Path], list[str]]
    environment: dict[str, str] = field(default_factory=dict)
    known: frozenset[str] = frozenset()
    device: str = "sim:adreno-740"


def tinygrad(image: str) -> Client:
    script = str(HERE / "tinygrad_tensors.py")
    return Client(f"tinygrad, IMAGE={image}", lambda at: [str(at / "venv/bin/python"), script], {"DEV": "CL", "IMAGE": image})


def make_packages(folder: Path) -> Path:
    """A virtual environment of its own with PACKAGES, made once."""
    python = folder / "venv/bin/python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", *PACKAGES], check=True)
    return python


def unpack_sources(package: str, place: Path) -> None:
    """A source distribution, downloaded and unpacked."""
    words = ["download", "-q", "--no-deps", "--no-binary", ":all:", "-d", str(place), package]
    subprocess.run([sys.executable, "-m", "pip", *words], check=True, stdout=subprocess.DEVNULL)
    shutil.unpack_archive(next(place.glob("*.tar.gz")), place)


def tinygrad_tests(image: str) -> Client:
    """The tests that tinygrad's source distribution has."""

    def find(folder: Path) -> list[str]:
        place = folder / "tinygrad"
        if not place.exists():
            unpack_sources(PACKAGES[0], place)
            compiler = place / "clang"  # of its CPU device, with which the tests compare
            compiler.write_text(f'#!/bin/sh\nexec {sys.executable} -m ziglang clang "$@"\n')
            compiler.chmod(0o755)
        tests = next(place.glob("tinygrad-*/test/test_tiny.py"))
        return ["env", f"CC={place / 'clang'}", str(folder / "venv/bin/python"), str(tests)]

    known = frozenset(() if image == "0" else ("test_hgemm",))
    return Client(f"tinygrad's tests, IMAGE={image}", find, {"DEV": "CL", "IMAGE": image}, known)


def unpack_packages(place: Path, *packages: str) -> None:
    """Debian's packages, downloaded and unpacked once without installing them."""
    if place.exists():
        return
    place.mkdir()
    subprocess.run(["apt-get", "download", "-q", *packages], cwd=place, check=True, capture_output=True)
    for package in place.glob("*.deb"):
        subprocess.run(["dpkg", "-x", str(package), str(place)], check=True)


def find_darktable(folder: Path) -> list[str]:
    """The client with Debian's darktable, and what of its libraries is not installed."""
    asked = ["apt-get", "install", "--simulate", "--no-install-recommends", "darktable"]
    lines = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.splitlines()
    unpack_packages(folder / "darktable", *(line.split()[1] for line in lines if line.startswith("Inst ")))
    return [str(make_packages(folder)), str(HERE / "darktable_raw.py"), str(folder / "darktable")]


def unpack_clblast(folder: Path) -> Path:
    """Debian's CLBlast with the headers that programs compile with."""
    place = folder / "clblast"
    unpack_packages(place, "libclblast1", "libclblast-dev", "opencl-c-headers", "opencl-clhpp-headers")
    return place


def find_clblast(folder: Path) -> list[str]:
    """The client with Debian's library."""
    library = next(unpack_clblast(folder).rglob("libclblast.so.1"))
    return [sys.executable, str(HERE / "clblast_routines.py"), str(library)]


def find_clblast_samples(folder: Path) -> list[str]:
    """The samples of CLBlast's sources, compiled."""
    archive = replace(CLBLAST, wanted="samples/[a-z_]+[.]c(pp)?")
    samples, place = unpack(archive, folder) / "samples", unpack_clblast(folder)
    script = str(HERE / "clblast_samples.py")
    return [sys.executable, script, str(samples), str(place), str(build_libraries().loader / "libOpenCL.so")]


def find_clfft(folder: Path) -> list[str]:
    """The client with Debian's clFFT."""
    unpack_packages(folder / "clfft", "libclfft2", "clfft-client", "libboost-program-options1.74.0")
    return [sys.executable, str(HERE / "clfft_transforms.py"), str(folder / "clfft")]


def build_llama(folder: Path, program: str) -> Path:
    """A program of llama.cpp with its OpenCL back end and its kernels for Adreno, built once."""
    place = folder / "llama.cpp"
    built = place / "build/bin" / program
    if not (place / "build").exists():
        unpack_sources(LLAMA, place)
        unpack_packages(place / "headers", "opencl-c-headers")
        sources = next(place.glob("llama_cpp_python-*/vendor/llama.cpp"))
        (sources / "ggml/ggml.pc.in").touch()  # the source distribution lacks it
        options = ["GGML_OPENCL=ON", "GGML_OPENCL_USE_ADRENO_KERNELS=ON", "LLAMA_OPENSSL=OFF"]
        options += [f"LLAMA_BUILD_{part}=OFF" for part in ("APP", "SERVER", "TOOLS")]
        options += ["GGML_NATIVE=OFF"]  # what its CPU back end computes with is the same on every machine
        options += [f"OpenCL_INCLUDE_DIR={place}/headers/usr/include"]
        options += [f"OpenCL_LIBRARY={build_libraries().loader}/libOpenCL.so", "CMAKE_BUILD_TYPE=Release"]
        words = ["cmake", "-S", str(sources), "-B", str(place / "build"), "-G", "Ninja", *(f"-D{option}" for option in options)]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    if not built.exists():
        words = ["cmake", "--build", str(place / "build"), "--target", program]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    return built


def run_llama(folder: Path, *words: str) -> list[str]:
    """A client of llama.cpp, which keeps the programs that it has built in the folder."""
    kept = f"GGML_OPENCL_KERNEL_CACHE_DIR={folder / 'llama.cpp/kernels'}"
    return ["env", kept, str(make_packages(folder)), *words]


def find_llama_tokens(folder: Path) -> list[str]:
    program = build_llama(folder, "llama-simple")
    return run_llama(folder, str(HERE / "llama_tokens.py"), str(program), str(folder / "llama.cpp"))


def find_llama_operators(folder: Path) -> list[str]:
    program = build_llama(folder, "test-backend-ops")
    jobs = str(len(os.sched_getaffinity(0)))
    return run_llama(folder, str(HERE / "llama_operators.py"), str(program), CASES, "--jobs", jobs)


CLIENTS = (
    tinygrad("0"),
    tinygrad("1"),
    tinygrad("2"),
    tinygrad_tests("0"),
    tinygrad_tests("1"),
    tinygrad_tests("2"),
    Client("OpenCV, UMat", lambda folder: [str(make_packages(folder)), str(HERE / "opencv_umat.py")]),
    Client("CLBlast", find_clblast),
    Client("CLBlast's samples", find_clblast_samples),
    Client("clFFT", find_clfft),
    Client("llama.cpp, tokens", find_llama_tokens),
    Client("llama.cpp, operators", find_llama_operators, device="sim:adreno-740,timeout=1800"),  # launches of minutes at full
    Client("darktable", find_darktable),
)


def run(client: Client, folder: Path) -> tuple[str, dict, float]:
    """How the program ended, the report, and seconds."""
    make_packages(folder)
    stem = "".join(char if char.isalnum() else "-" for char in client.name)
    report, log = folder / f"{stem}.json", folder / f"{stem}.txt"
    report.unlink(missing_ok=True)
    command = [
        sys.executable,
        "-m",
        "adreno_sim",
        "run",
        "--device",
        client.device,
        "--checks",
        CHECKS,
        "--json",
        str(report),
        "--",
        *client.command(folder),
    ]
    start = time.monotonic()
    with (
        log.open("wb") as out,
        subprocess.Popen(command, stdout=out, stderr=out, env={**os.environ, **client.environment}) as running,
    ):
        try:
            running.wait(SECONDS)
        except subprocess.TimeoutExpired:
            running.terminate()  # it passes that on, and reports what was found until now
    data = json.loads(report.read_text())
    return tell_end(client, data["status"], log.read_text(errors="replace")), data, time.monotonic() - start


def tell_end(client: Client, status: int, log: str) -> str:
    """Returns "ok", with the known tests that failed if no other did, or the status."""
    failed = set(re.findall(r"^(?:FAIL|ERROR): (\w+)", log, re.MULTILINE))
    if status and failed and failed <= client.known:
        return f"ok except for {', '.join(sorted(failed))}"
    return f"**{status}**" if status else "ok"


def main(folder: Path, pattern: str) -> int:
    """Print the table; 1 where a program failed, or asked for what is unsupported."""
    failed = False
    print("| client | ended | launches | kernels | findings at places | unsupported | seconds |\n|---|---|---|---|---|---|---|")
    for client in CLIENTS:
        if pattern not in client.name:
            continue
        ended, data, seconds = run(client, folder)
        counts = [count for process in data["processes"] for count in process["kernels"].values()]
        launches = sum(count["launches"] for count in counts)
        kinds = Counter(finding["kind"] for finding in data["findings"])
        found = ", ".join(f"{kind}: {count}" for kind, count in sorted(kinds.items())) or "none"
        lacks = len(data["unsupported"])
        failed = failed or bool(not ended.startswith("ok") or lacks or not launches)
        row = [ended, launches, len(counts), found, lacks, f"{seconds:.0f}"]
        print(f"| {client.name} | {' | '.join(map(str, row))} |", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1]), sys.argv[2]))
