"""The cases of a sweep, and what became of each."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, field
from importlib import metadata
from pathlib import Path
from typing import Any

from ..base.allow import find_config
from ..base.bounded_read import read_bytes
from ..base.bundle_name import is_bundle_name
from ..base.errors import AdrenoSimError
from ..base.file_digests import digest_file
from ..base.run_options import RunOptions
from ..base.trust.device_string import options_in
from ..base.version import __version__
from ..records import dataclass

STATUSES = ("ok", "findings", "failed", "unsupported", "internal-error", "crashed", "hung")
"""What can become of a case; by exit code, or by how its process ended."""

AGAIN = ("internal-error", "crashed", "hung")
"""Those that `--retry` runs once more."""


@dataclass(frozen=True)
class Case:
    """One check: `path` of a model, a device string, a target ("" for a bundle, which has its own), options of `check`.

    digest: SHA-256 of the model's bytes, and of the files that hold its weights. context: of what else decides the result: a
    profile's file, allow-lists. shown: what people read of it, where models of other folders have its name.
    """

    path: str
    digest: str
    device: str
    target: str
    options: tuple[str, ...] = ()
    context: str = ""
    shown: str = ""

    @property
    def label(self) -> str:
        """The model for people: its name, or its path where another one has the name."""
        return self.shown or self.model

    @property
    def model(self) -> str:
        return Path(self.path).stem

    @property
    def level(self) -> str:
        """The level of checks that it runs at, "" on a real device."""
        said = dict(zip(self.options, self.options[1:], strict=False)).get("--checks") or options_in(self.device).get("checks")
        return said or (RunOptions.checks if self.device.startswith("sim:") else "")

    def arguments(self, path: str, report: str) -> list[str]:
        """Of `adreno-sim`, for the model at `path` and a JSON report."""
        target = ["--target", self.target] if self.target else []
        return ["check", path, "--device", self.device, *target, "--keep-going", "--json", report, *self.options]

    @property
    def key(self) -> str:
        """A file name that is the same for the same check: same model, device, options, versions of this and of TVM."""
        said = json.dumps([self.digest, self.device, self.target, self.options, self.context, __version__, _tvm()])
        words = re.sub(r"[^\w.-]+", "-", "-".join(filter(None, [self.model, self.device.removeprefix("sim:"), self.target])))
        return f"{words[:80]}-{hashlib.sha256(said.encode()).hexdigest()[:12]}"


@dataclass(frozen=True)
class Outcome:
    """What became of a case. message: the verdict, or why there is none. Figures are 0 where there is no report. time: predicted,
    in seconds, where that was asked for."""

    status: str
    exit_code: int
    message: str
    seconds: float
    kernels: int = 0
    checked: int = 0
    errors: int = 0
    warnings: int = 0
    max_ulp: int = 0
    plan: dict[str, int] | None = None
    time: dict[str, float] | None = None


@dataclass(frozen=True)
class Result:
    """An outcome with the check's report (JSON data; None if there is none) and what its process printed."""

    outcome: Outcome
    report: dict[str, Any] | None = None
    log: str = ""
    resumed: bool = field(default=False, compare=False)


def _tvm() -> str:
    try:
        return metadata.version("apache-tvm")
    except metadata.PackageNotFoundError:
        return ""


def cases(models: Sequence[str], devices: Sequence[str], targets: Sequence[str], options: Iterable[str] = ()) -> list[Case]:
    """Every model on every device for every target, a model given twice once. Raises AdrenoSimError for a missing file."""
    found = []
    contexts = {device: _context(device) for device in devices}
    given = list(dict.fromkeys(models))
    names = Counter(Path(model).stem for model in given)
    for model in given:
        path = Path(model)
        if not path.is_file():
            raise AdrenoSimError(f"model {model}: expected a file, found {'a folder' if path.is_dir() else 'nothing'}")
        digest = _digest(path)
        shown = model if names[path.stem] > 1 else ""
        own = ("",) if is_bundle_name(path) else targets
        found += [
            Case(model, digest, device, target, tuple(options), contexts[device], shown) for device in devices for target in own
        ]
    return found


def _digest(path: Path) -> str:
    """Of a model's file and of those that it names for its weights. A missing one counts as such: the check says so."""
    from ..compiler.check.cache.external_data import find_external_data

    found, outside = digest_file(path), dict[str, Path]()
    with contextlib.suppress(OSError, ValueError, ModuleNotFoundError):  # the check says what is wrong with it
        outside = find_external_data(path)
    if not outside:
        return found
    parts = [found]
    for name, file in outside.items():
        parts += [name, digest_file(file) if file.is_file() else ""]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _context(device: str) -> str:
    """Digest of a user's profile and of the allow-lists that hold in this folder; "" without either."""
    file = Path(device.partition(":")[2].partition(",")[0])
    profile = ""
    if file.suffix in (".toml", ".json") and file.is_file():
        with contextlib.suppress(OSError):  # the check of each case says what is wrong with it
            profile = read_bytes(file).decode("utf-8", "replace")
    entries = [repr(entry) for entry in find_config(Path.cwd())]
    return hashlib.sha256(json.dumps([profile, entries]).encode()).hexdigest() if profile or entries else ""


def case_json(case: Case, result: Result) -> dict[str, Any]:
    """The entry of a case in the JSON of a sweep."""
    return {
        "model": case.model,
        "path": case.path,
        "device": case.device,
        "target": case.target,
        "key": case.key,
        **asdict(result.outcome),
        "resumed": result.resumed,
    }
