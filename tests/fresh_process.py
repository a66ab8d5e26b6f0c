"""Calls in a fresh process, for what counts a whole process's mappings, files, threads or memory: in the one that runs the tests,
what other tests left comes and goes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parent
PROGRAM = """
import importlib.util, json, sys
file, name, arguments = sys.argv[1:]
spec = importlib.util.spec_from_file_location("in_fresh_process", file)
module = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = module
spec.loader.exec_module(module)
print("\\n" + json.dumps(getattr(module, name)(*json.loads(arguments))))
"""


def call_in_fresh_process(function: Callable[..., Any], *arguments: Any) -> Any:
    """What `function(*arguments)` returns there; it stands at the top of its file, and takes and returns what JSON can say."""
    search = [str(TESTS.parent), str(TESTS), str(TESTS / "models"), os.environ.get("PYTHONPATH", "")]
    command = [sys.executable, "-c", PROGRAM, function.__code__.co_filename, function.__name__, json.dumps(arguments)]
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, search))}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, f"{function.__name__} ended with {done.returncode}: {done.stderr}"
    return json.loads(done.stdout.splitlines()[-1])
