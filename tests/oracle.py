"""Other people's OpenCL implementations as judges: PoCL and Intel's CPU OpenCL, each in a process of its own.

Each driver brings its own LLVM and may crash or hang, so none is loaded into the tests' process: a worker
(`oracle_worker.py`) per oracle takes pickled requests over a socket, keeps its programs, and is started anew
after a crash or a time-out. One is believed only after it gave every answer that is known. Tests use the fixtures `judge`,
`pocl` and `intel`; scripts may call `run`.
"""

from __future__ import annotations

import atexit
import importlib.util
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

from adreno_sim import device
from adreno_sim.backends.opencl import drivers
from adreno_sim.backends.opencl.known_answers import KNOWN_ANSWERS, SIMPLEST, KnownAnswer, Texels
from adreno_sim.backends.opencl.trial import summarise
from adreno_sim.backends.opencl.verdicts import judge_driver

WORKER = Path(__file__).with_name("oracle_worker.py")
START_SECONDS = 60.0
RUN_SECONDS = 60.0
DEAD_CONTEXT = ("<unknown error -9999>", "INVALID_COMMAND_QUEUE")
"""NVIDIA's answers to everything after an illegal access: the worker is of no more use."""


class OracleError(Exception):
    """The oracle answered with an error (build log, OpenCL code)."""


class OracleCrash(OracleError):
    """The oracle's process died; the text names the signal and the end of what it printed."""


class OracleTimeout(OracleError):
    """The oracle did not answer within the time limit; its process was killed."""


class OracleUnavailable(OracleError):
    """The oracle is not installed, does not start here, or is unfit."""


class OracleUnfit(OracleUnavailable):
    """The oracle does not give an answer that is known; the text says what it gets wrong."""


@dataclass(frozen=True)
class Buffer:
    """A __global or __constant buffer holding `array`; returned after the run where `output`."""

    array: np.ndarray
    output: bool = True


@dataclass(frozen=True)
class Part:
    """A sub-buffer: `count` elements from `first` on of the buffer that holds `array`, which all parts of the same array share.

    The whole array is returned after the run where `output`. `first` in bytes must suit every driver: a multiple of 1,024 does.
    """

    array: np.ndarray
    first: int
    count: int
    output: bool = True


@dataclass(frozen=True)
class Image:
    """An image holding `array` of shape (depth or layers, height, width, channels) in its storage dtype.

    Kind, order and channel type are spelled as in `adreno_sim.device.ImageSpec`; returned after the run where `output`.
    """

    array: np.ndarray
    kind: str = "image2d"
    order: str = "RGBA"
    channel_type: str = "FLOAT"
    output: bool = True


@dataclass(frozen=True)
class Local:
    """A __local pointer argument of `nbytes`."""

    nbytes: int


@dataclass(frozen=True)
class Scalar:
    """A value argument: the bytes of a numpy scalar, or of an array for a vector (three lanes are padded to four)."""

    value: np.generic | np.ndarray


@dataclass(frozen=True)
class Sampler:
    """A sampler argument, spelled as `adreno_sim.device.Sampler`."""

    normalized: bool = False
    addressing: str = "clamp_to_edge"
    filter: str = "nearest"


Arg = Buffer | Part | Image | Local | Scalar | Sampler


@dataclass(frozen=True)
class Run:
    """One launch. `args` in kernel order; `local_size` None leaves the choice to the driver."""

    source: str
    kernel: str
    global_size: tuple[int, ...]
    args: Sequence[Arg]
    local_size: tuple[int, ...] | None = None
    options: str = "-cl-std=CL2.0"


@dataclass(frozen=True)
class OracleInfo:
    """What the driver says of itself."""

    name: str
    version: str
    extensions: frozenset[str]
    images: bool = True


class Oracle:
    """One driver in a worker process. `library` is the path of its ICD library.

    A failed request raises OracleError, OracleCrash or OracleTimeout; the next request starts a new worker where needed.
    """

    def __init__(self, name: str, library: Path):
        self.name = name
        self._folder = tempfile.TemporaryDirectory(prefix=f"oracle-{name}-")
        (Path(self._folder.name) / f"{name}.icd").write_text(f"{library}\n")
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: Connection | None = None
        self._log = Path(self._folder.name) / "worker.log"
        self.info: OracleInfo = self._request("info", START_SECONDS)

    def run(
        self,
        source: str,
        options: str,
        kernel: str,
        global_size: Sequence[int],
        local_size: Sequence[int] | None,
        args: Sequence[Arg],
        timeout: float = RUN_SECONDS,
    ) -> list[np.ndarray]:
        """Run one kernel; the contents after it of every Buffer and Image with `output`, in argument order."""
        request = Run(source, kernel, tuple(global_size), list(args), tuple(local_size) if local_size else None, options)
        result = self.run_many([request], timeout)[0]
        if isinstance(result, OracleError):
            raise result
        return result

    def run_many(self, runs: Sequence[Run], timeout: float = RUN_SECONDS) -> list[list[np.ndarray] | OracleError]:
        """Run several kernels in one round trip of at most `timeout` seconds; a run the driver refuses gives its OracleError."""
        answers = self._request(list(runs), timeout)
        if any(isinstance(answer, OracleError) and any(sign in str(answer) for sign in DEAD_CONTEXT) for answer in answers):
            self.close()
        return answers

    def close(self) -> None:
        """End the worker; a later request starts another."""
        if self._pipe is not None:
            self._pipe.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._process = self._pipe = None

    def _request(self, message, timeout: float):
        pipe = self._pipe or self._start()
        try:
            pipe.send(message)
            if not pipe.poll(timeout):
                self.close()
                raise OracleTimeout(f"{self.name}: no answer within {timeout:g} s\n{self._log_tail()}")
            answer = pipe.recv()
        except (EOFError, OSError):
            raise OracleCrash(f"{self.name}: {self._cause_of_death()}\n{self._log_tail()}") from None
        if isinstance(answer, OracleError):
            raise answer
        return answer

    def _start(self) -> Connection:
        ours, theirs = socket.socketpair()
        environment = dict(os.environ, OCL_ICD_VENDORS=self._folder.name, POCL_CACHE_DIR=self._folder.name, PYOPENCL_NO_CACHE="1")
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
        command = [sys.executable, str(WORKER), str(theirs.fileno())]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                command, env=environment, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        theirs.close()
        self._pipe = Connection(ours.detach())
        return self._pipe

    def _cause_of_death(self) -> str:
        process = self._process
        assert process is not None
        try:
            code = process.wait(5)
        except subprocess.TimeoutExpired:
            code = None
        self.close()
        if code is not None and code < 0:
            return f"worker died of {signal.Signals(-code).name}"
        return f"worker ended with exit code {code}"

    def _log_tail(self, size: int = 2000) -> str:
        return self._log.read_bytes()[-size:].decode(errors="replace")


def known_run(known: KnownAnswer) -> Run:
    """The launch of a known answer, with what holds the answer as its only output."""
    args = [_argument(arg, index == known.at) for index, arg in enumerate(known.args)]
    return Run(known.source, "k", known.global_size, args, known.local_size, "")


def _argument(arg: object, output: bool) -> Arg:
    if isinstance(arg, Texels):
        return Image(arg.array, arg.kind, output=output)
    if isinstance(arg, device.Local):
        return Local(arg.nbytes)
    return Buffer(arg, output=output) if isinstance(arg, np.ndarray) else Scalar(arg)


def find_failures(opened: Oracle) -> list[str]:
    """A sentence for each known answer that an oracle must give and does not; refusing, crashing and hanging is wrong too."""
    sentences = []
    for known in KNOWN_ANSWERS:
        if known.applies(opened.info.extensions, opened.info.images) and (wrong := _find_failure(opened, known)):
            sentences.append(wrong)
            if known is SIMPLEST:
                break
    return sentences


def _find_failure(opened: Oracle, known: KnownAnswer) -> str:
    launch = known_run(known)
    try:
        (found,) = opened.run(launch.source, launch.options, launch.kernel, launch.global_size, launch.local_size, launch.args)
    except OracleError as error:
        return known.failure(summarise(str(error)))
    return known.judge(found)


def why_absent(name: str) -> str:
    """Why there is no such driver to run anything on, right or wrong: not installed, or it runs nothing here; else ""."""
    driver = drivers.get_driver(name)
    if not drivers.is_available(driver):
        return f"{driver.platform} is not installed: {driver.install}"
    verdict = judge_driver(drivers.icd_texts(driver)[0])
    return "" if verdict.runs else f"{driver.platform} runs nothing on this machine: {verdict.against}"


NAMES = ("pocl", "intel")
"""Who may judge, best first."""


@cache
def _start_or_reason(name: str, icd: str) -> Oracle | str:
    try:
        opened = Oracle(name, Path(icd.strip()))
    except OracleError as error:
        return str(error).splitlines()[0]
    atexit.register(opened.close)
    return opened


def open_process(name: str) -> Oracle:
    """The driver's worker, started once per process, whatever its answers are worth. Raises OracleUnavailable."""
    known = name in NAMES
    files = drivers.icd_texts(drivers.get_driver(name)) if known else [t for t in drivers.other_icd_texts() if name in t]
    found = [_start_or_reason(name, icd) for icd in files] if importlib.util.find_spec("pyopencl") else []
    opened = next((one for one in found if isinstance(one, Oracle)), None)
    if opened is None:
        missing = f"{drivers.get_driver(name).platform} is not installed: {drivers.get_driver(name).install}" if known else ""
        reason = "; ".join(map(str, found)) or missing or f"no .icd file in {drivers.VENDORS} names it"
        raise OracleUnavailable(f"{name} oracle unavailable: {reason}")
    return opened


@cache
def _failures_of(name: str) -> tuple[str, ...]:
    return tuple(find_failures(open_process(name)))


def open_oracle(name: str) -> Oracle:
    """The oracle "pocl" or "intel", started once per process. Raises OracleUnavailable with what is missing or wrong."""
    opened = open_process(name)
    if wrong := _failures_of(name):
        raise OracleUnfit(f"{name} oracle unfit: {opened.info.name}, {opened.info.version}: {'; '.join(wrong)}")
    return opened


def run(
    oracle: str,
    source: str,
    options: str,
    kernel: str,
    global_size: Sequence[int],
    local_size: Sequence[int] | None,
    args: Sequence[Arg],
) -> list[np.ndarray]:
    """`Oracle.run` on the oracle of that name."""
    return open_oracle(oracle).run(source, options, kernel, global_size, local_size, args)
