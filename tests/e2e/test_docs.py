"""Every command and Python example of the README and of docs/, run page by page in a scratch folder with small models.

In a page, lines of indented blocks that begin with a command's name are run in order; fenced Python runs as one program; a
fenced block whose info string has a second word is written to the file of that name first. A comment `# exit N` says what
exit code is expected, else it is 0. A fenced block `output` is what the last command says: its lines come in this order, `...`
is any lines between, and numbers may be others. What takes seconds runs with --slow; options and examples are looked at in
every run.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import oracle
import pytest

import adreno_sim
from adreno_sim.cli.main import _parser, main

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

TOOLS = ("adreno-sim", "pytest", "bash", "pip", "git", "python")

ELSEWHERE = (
    r"git clone",
    r"pip install",  # tests/e2e/test_ci_kit.py installs, with --slow
    r"bash ci/(demo|test|tvm-matrix|cts)\.sh",  # what runs these tests
    r"bash ci/(networks|corpora|rusticl/build)\.sh",  # fetch models, kernels and packages
    r"bash ci/foundry\.sh",  # tests/kernels/foundry
    r"bash ci/adreno-ci\.sh",  # tests/e2e/test_ci_kit.py
    r"python (ci/(bench|mutants|trials)|tests/kernels/corpora|-m venv)",
    r"python -m tests\.",  # campaigns; tests of theirs run a few cases
    r"adreno-sim run .*-- \./",  # a program of the reader's; tests/icd runs some
    r"adreno-sim tvm-runtime|.*-- pytest tests/python",  # tests/tvm/runtime, with a checkout of TVM
    r"adreno-sim replay trace\.asim",  # tests/icd/recordings
    r"adreno-sim debug conv\.cl",  # asks a person
    r"adreno-sim debug --replay trace",  # tests/kernels/debugger
    r"adreno-sim calibrate",  # tests/device
    r"adreno-sim kernel llama\.cpp/",  # a kernel of another project
)
"""Commands that other tests run, or that fetch something."""

QUICK = r"adreno-sim (init \S+\.cl|kernel|debug --launch|layout|cache|devices --profile|footprint trace\.csv)"
"""What takes no TVM and no other process runs in every test run; the rest, seconds each, with --slow as it stands."""

MAY_FIND = re.compile(r"--pipeline stock|--without-fix|adreno-sim reproduce")
"""Commands that show defects; whether the small model has them depends on the TVM that is installed."""

TORCH = re.compile(r"python llama\.py|\.pt2\b")
"""What makes or reads a program of torch.export, where PyTorch and transformers are installed."""

MACHINE_CODE = re.compile(r"--isa|--dump isa")
"""What needs Mesa's compiler, which there is for few systems."""

OPENCL = re.compile(r"cl:(\w+)|--device cl\b")

EXIT = re.compile(r"#.*\bexit (\d)(?: or (\d))?")


@dataclass(frozen=True)
class Command:
    """A command line of a page, and the exit codes that are right for it."""

    text: str
    codes: tuple[int, ...] = (0,)


@dataclass(frozen=True)
class Example:
    """A fenced Python program."""

    text: str


@dataclass(frozen=True)
class Written:
    """A fenced block that is a file."""

    name: str
    text: str


@dataclass(frozen=True)
class Output:
    """A fenced block that shows what the command before it says."""

    lines: tuple[str, ...]

    def missing_from(self, said: str) -> str:
        """The first line that is not there, in its place; "" where all are."""
        left = iter([shape for line in said.splitlines() if (shape := _shape(line))])
        anywhere = True
        for line in self.lines:
            if line.strip() == "...":
                anywhere = True
                continue
            if not (_shape(line) in left if anywhere else next(left, "") == _shape(line)):
                return line
            anywhere = False
        return ""


def _shape(line: str) -> str:
    """A line without what differs from run to run: numbers, spaces, the rules of tables."""
    return " ".join(re.sub(r"[+-]?\d[\d,.]*(e[+-]?\d+)?", "#", re.sub(r"[\u2500-\u257f]+", " ", line)).split())


def parts_of(page: str) -> list[Command | Example | Written | Output]:
    """What a page runs, in order."""
    found: list[Command | Example | Written | Output] = []
    fence: list[str] | None = None
    language, name = "", ""
    continued = ""
    for line in page.splitlines():
        if fence is not None:
            if line.startswith("```"):
                text = "\n".join(fence) + "\n"
                found += [Written(name, text)] if name else [Example(text)] if language == "python" else []
                found += [Output(tuple(line for line in fence if line.strip()))] if language == "output" else []
                found += _commands(fence) if language in ("sh", "bash", "shell") else []
                fence = None
            else:
                fence.append(line)
        elif line.startswith("```"):
            language, _, name = line.removeprefix("```").strip().partition(" ")
            fence = []
        elif line.startswith("    "):
            text = continued + line.strip()
            continued = text[:-1] if text.endswith("\\") else ""
            found += [] if continued else _commands([text])
    return found


def _commands(lines: list[str]) -> list[Command]:
    out = []
    for line in lines:
        words = line.strip().removeprefix("$ ")
        for part in words.split(" && "):
            if part.split(" ")[0] in TOOLS:
                codes = EXIT.search(words)
                text = re.sub(r"\s+#.*", "", part)
                out.append(Command(text, tuple(int(code) for code in codes.groups() if code) if codes else (0,)))
    return out


@pytest.fixture(scope="module")
def scratch(request, tmp_path_factory):
    """A user's folder: models (which nothing reads without --slow), inputs, a kernel with its launch file, a phone's clinfo."""
    folder = tmp_path_factory.mktemp("docs")
    (folder / "models").mkdir()
    if request.config.getoption("--slow"):
        for name in ("model.onnx", "models/first.onnx", "models/second.onnx"):
            shutil.copy(request.getfixturevalue("small_onnx"), folder / name)
    np.savez(folder / "inputs.npz", data=np.random.default_rng(0).random((1, 4, 16, 16), dtype="float32"))
    corpus = ROOT / "tests" / "kernels" / "corpus" / "out-of-bounds-read"
    shutil.copy(corpus / "conv_channel_tail.cl", folder / "conv.cl")
    shutil.copy(corpus / "conv_channel_tail.toml", folder / "launch.toml")
    shutil.copy(ROOT / "ci" / "fuzz" / "corpus" / "clinfo-text" / "phone.txt", folder)
    return folder


@pytest.fixture
def place(scratch, tmp_path, monkeypatch):
    """A fresh copy of it for a page."""
    folder = tmp_path / "page"
    shutil.copytree(scratch, folder)
    monkeypatch.chdir(folder)
    monkeypatch.delenv("ADRENO_SIM_DEVICE", raising=False)
    monkeypatch.setenv("PYTHONPATH", str(Path(adreno_sim.__file__).parents[1]), prepend=os.pathsep)
    return folder


def run(command: Command) -> tuple[int, str]:
    """Exit code and what was said. Drivers are loaded in a process of their own."""
    tool, *arguments = [word for text in shlex.split(command.text) for word in _expanded(text)]
    if tool == "adreno-sim" and not OPENCL.search(command.text) and arguments[0] != "devices":
        said = Path("said.txt")
        with said.open("w") as file, contextlib.redirect_stdout(file), contextlib.redirect_stderr(file):
            code = main(arguments)
        return code, said.read_text()
    module = {"adreno-sim": ["-m", "adreno_sim"], "pytest": ["-m", "pytest", *_plugin()], "python": []}[tool]
    done = subprocess.run([sys.executable, *module, *arguments], capture_output=True, text=True, timeout=600)
    return done.returncode, done.stdout + done.stderr


def _expanded(word: str) -> list[str]:
    """A shell's file name patterns."""
    if "*" not in word or word.startswith(("adreno-", "sim:")):
        return [word]
    return sorted(str(path) for path in Path().glob(word)) or [word]


def _plugin() -> list[str]:
    installed = any(entry.name == "adreno_sim" for entry in entry_points(group="pytest11"))
    return [] if installed else ["-p", "adreno_sim.pytest.plugin"]


def skipped(command: Command, slow: bool) -> bool:
    """Whether a command does not run here."""
    from adreno_sim.backends.opencl import loader

    if any(re.match(pattern, command.text) for pattern in ELSEWHERE):
        return True
    if TORCH.search(command.text) and not (find_spec("torch") and find_spec("transformers")):
        return True
    if MACHINE_CODE.search(command.text) and not find_spec("tinymesa"):
        return True
    missing = any(word.endswith(".toml") and not Path(word).exists() for word in command.text.split())
    if not slow and (missing or not re.match(QUICK, command.text)):
        return True
    for name in OPENCL.findall(command.text):
        driver = loader.find_driver(name or "portable")
        if driver is None or oracle.why_absent(driver.name):
            return True
    return False


@pytest.mark.share()
@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_a_page(page, place, request):
    slow = request.config.getoption("--slow")
    said: str | None = None
    for part in parts_of(page.read_text(encoding="utf-8")):
        if isinstance(part, Output):
            line = "" if said is None else part.missing_from(said)
            assert not line, f"{page.name}: not said, or not there: {line}\n{said}"
        elif isinstance(part, Written):
            Path(part.name).write_text(part.text)
        elif isinstance(part, Example) and slow:
            namespace = {"__name__": "example", "relax_module": _module(), "inputs": None}
            exec(compile(part.text, f"{page.name}: Python example", "exec"), namespace)
        elif isinstance(part, Command) and skipped(part, slow):
            said = None
        elif isinstance(part, Command):
            code, said = run(part)
            codes = (0, 1) if MAY_FIND.search(part.text) else part.codes
            assert code in codes, f"{page.name}: {part.text}: exit code {code}\n{said[-3000:]}"


def _module():
    from adreno_sim.compiler.importers.load import load_model

    return load_model("model.onnx").module


@pytest.fixture(scope="module")
def parser():
    return _parser()


@pytest.mark.share()
@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_commands_and_examples_are_well_formed(page, parser):
    """Whatever runs or not: every option exists and takes what it is given, every example compiles."""
    parts = parts_of(page.read_text(encoding="utf-8"))
    for part in parts:
        if isinstance(part, Command) and part.text.startswith("adreno-sim "):
            try:
                parser.parse_args(shlex.split(part.text)[1:])
            except SystemExit:
                pytest.fail(f"{page.name}: {part.text}")
        elif isinstance(part, (Example, Written)) and (isinstance(part, Example) or part.name.endswith(".py")):
            compile(part.text, page.name, "exec")
    assert parts or page.stem in ("architecture", "devices-evidence", "emitted-checks", "integers", "kinds", "mistakes", "trust")


def test_links_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[\w-]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_reader_of_pages():
    page = """text
    adreno-sim check a.onnx \\
        --strict    # exit 1
    $ git clone x && cd x && bash ci/demo.sh
    not a command

```python test_a.py
x = 1
```
```sh
adreno-sim devices
```
```python
y = 2
```
    adreno-sim kernel k.cl   # fails: exit 0 or 1

```output
first 1
...
```
"""
    assert parts_of(page) == [
        Command("adreno-sim check a.onnx --strict", (1,)),
        Command("git clone x"),
        Command("bash ci/demo.sh"),
        Written("test_a.py", "x = 1\n"),
        Command("adreno-sim devices"),
        Example("y = 2\n"),
        Command("adreno-sim kernel k.cl", (0, 1)),
        Output(("first 1", "...")),
    ]


def test_what_an_output_block_allows():
    said = "a 1\n  b 2.5e-03\n\u2500\u2500\nc\n\nlast: 3 of 4\n"
    for lines in (("a 7",), ("b 1",), ("a 1", "...", "last: 1 of 1"), ("b 0", "c", "last: 2 of 2"), ("...", "c", "...")):
        assert Output(lines).missing_from(said) == ""
    for lines, missing in ((("b 1", "a 1"), "a 1"), (("a 1", "c"), "c"), (("last: 1 of",), "last: 1 of"), (("d",), "d")):
        assert Output(lines).missing_from(said) == missing
