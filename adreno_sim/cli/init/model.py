"""A pytest file for a model, and a workflow for a code host."""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import shlex
from importlib import resources
from importlib.util import find_spec
from pathlib import Path

from ...base.errors import AdrenoSimError
from ...base.text.spelling import spell_line
from .files import require_new, write_files

SCRIPT = "ci/adreno-ci.sh"
RECIPES = {
    "github": {".github/workflows/adreno.yml": "adreno.yml", SCRIPT: "adreno-ci.sh"},
    "gitlab": {"ci/adreno.gitlab-ci.yml": "adreno.gitlab-ci.yml", SCRIPT: "adreno-ci.sh"},
}
"""Host -> file of the repository -> recipe that it is made of."""

PACKAGE = "ADRENO_CI_PACKAGE:"
MODELS = "models/*.onnx"
"""What the recipes check where nothing else is said."""

TEST = '''"""Checks {shown} on simulated Adreno GPUs: pytest {file} --adreno-device sim:adreno-740"""

from pathlib import Path

{imports}MODEL = {model}
{constants}


{parameters}def test_every_kernel(adreno_check{argument}):
    report = adreno_check(MODEL{options})  # fails with kernel, line, worst element and its stores
    print(report.verdict, report.unchecked)


def test_memory_plan(adreno_plan):
    plan = adreno_plan(MODEL{plan_options})
    assert plan.bytes() <= BUDGET, plan.summary
'''


_PLAIN_PATH = re.compile(r"[\w ./+@=,~-]+")


def init_model(args: argparse.Namespace) -> None:
    """Write the files that `args` ask for. Raises AdrenoSimError if it cannot."""
    from ...compiler.importers.module_file import require_model, split_name

    require_model(args.file)
    path, name = split_name(args.file)
    _require_readable(path)
    target = Path(args.output or f"test_{re.sub('[^A-Za-z0-9_]', '_', path.stem)}.py")
    files = {target: _test_text(path, name, target)}
    if args.workflow:
        files |= _workflow(args.workflow, path)
    require_new(files, args.force)
    write_files(files)
    for written, text in files.items():
        print(f"wrote {written}{_left(text)}")
    install = "" if find_spec("pytest") else "pip install pytest, then "  # the shell's own would not see the plugin
    print(f"next: {install}pytest {shlex.quote(str(target))}")


def _require_readable(path: Path) -> None:
    """Raise AdrenoSimError for a file that is not a model, as far as this can be seen without TVM or PyTorch."""
    from ...base.archive import open_zip
    from ...base.bounded_read import read_text

    try:
        if path.suffix in (".asim", ".pt2"):
            with open_zip(str(path)):
                return
        if path.suffix in (".py", ".json"):
            text = read_text(path)
            ast.parse(text) if path.suffix == ".py" else json.loads(text)
    except OSError as error:
        raise AdrenoSimError(f"{path}: cannot be read: {error.strerror or error}") from None
    except SyntaxError as error:
        raise AdrenoSimError(f"{path}:{error.lineno}: not Python: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        raise AdrenoSimError(f"{path}: not a model: {str(error).splitlines()[0]}") from None


def _test_text(path: Path, name: str, target: Path) -> str:
    """The test file. A bundle is compiled already: it has its target."""
    relative = os.path.relpath(path, target.parent)
    model = f"Path(__file__).parent / {_python_text(relative)}"
    compiled = path.suffix == ".asim"
    shapes = _open_shapes(path) if path.suffix == ".onnx" else {}
    constants = ["BUDGET = 256 << 20  # DECIDE: bytes that activations may take"]
    named = ", ".join(f"{_python_text(name)}: {sizes!r}" for name, sizes in shapes.items())
    constants += [f"SHAPES = {{{named}}}  # DECIDE: sizes that the model leaves open are 1 here"] if shapes else []
    with_shapes = ", shapes=SHAPES" if shapes else ""
    return TEST.format(
        shown=_in_docstring(path.name),
        file=_in_docstring(target.name),
        imports="" if compiled else "import pytest\n\n",
        model=f"str({model}) + {_python_text(f':{name}')}" if name else model,
        constants="\n".join(constants),
        parameters="" if compiled else '@pytest.mark.parametrize("target", ["texture", "buffer"])\n',
        argument="" if compiled else ", target",
        options=with_shapes if compiled else f", target=target{with_shapes}",
        plan_options=with_shapes,
    )


def _python_text(text: str) -> str:
    """A literal of Python's that is this text, whatever it holds."""
    return '"' + "".join(_python_char(char) for char in text) + '"'


def _python_char(char: str) -> str:
    if char in '"\\':
        return f"\\{char}"
    return char if char.isprintable() else char.encode("unicode_escape").decode("ascii")


def _in_docstring(text: str) -> str:
    return "".join(_python_char(char) for char in spell_line(text))


def _open_shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """Inputs of an ONNX model with sizes that it leaves open, which are 1 here."""
    from ...base.installed.extras import require

    require("onnx")
    from ...compiler.importers.onnx_file import read_onnx

    graph = read_onnx(path).proto.graph
    given = {item.name for item in graph.initializer}
    found: dict[str, tuple[int, ...]] = {}
    for item in graph.input:
        sizes = [dim.dim_value for dim in item.type.tensor_type.shape.dim]
        if item.name not in given and not all(sizes):
            found[item.name] = tuple(size or 1 for size in sizes)
    return found


def _workflow(host: str, path: Path) -> dict[Path, str]:
    """The files of a workflow, in the repository's root, which is the current folder."""
    relative = os.path.relpath(path)
    if relative.startswith(os.pardir) or os.path.isabs(relative):
        raise AdrenoSimError(f"--workflow: {path} lies outside the current folder, which is taken for the root of the repository")
    if not _PLAIN_PATH.fullmatch(relative):  # in a workflow, it is part of YAML, of the host's expressions and of a shell's words
        raise AdrenoSimError(f"--workflow: {path}: expected a path of letters, digits, spaces and ._-/+@=,~; rename the model")
    folder = resources.files(__package__).joinpath("recipes")
    texts = {Path(file): folder.joinpath(recipe).read_text(encoding="utf-8") for file, recipe in RECIPES[host].items()}
    if Path(relative).match(MODELS):
        return texts
    return {file: text if file == Path(SCRIPT) else _naming_model(text, relative) for file, text in texts.items()}


def _naming_model(text: str, model: str) -> str:
    """The recipe with the model's path as its setting."""
    line = re.search(rf"^( *){PACKAGE}.*\n", text, re.MULTILINE)
    assert line is not None
    return text[: line.end()] + f'{line[1]}ADRENO_CI_MODELS: "{model}"\n' + text[line.end() :]


def _left(text: str) -> str:
    """Which lines of a file are left to fill in, in words."""
    lines = [str(number) for number, line in enumerate(text.splitlines(), 1) if "# DECIDE" in line or "HOST/OWNER" in line]
    if not lines or text.startswith("#!"):  # the script only tells its settings
        return ""
    return f"; to decide: {'line' if len(lines) == 1 else 'lines'} {', '.join(lines)}"
