"""The shim's core knows nothing of the functions of OpenCL above it: what an object of a kind needs, it was given."""

from __future__ import annotations

import re

from adreno_sim.icd.build import SHIM

DEFINED = re.compile(r"^(?!static\b)\w[\w \t*]*?\b(\w+)\([^;{}]*\) \{$", re.MULTILINE)
WORD = re.compile(r"\w+")
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


def texts(folder: str) -> dict[str, str]:
    return {path.name: COMMENT.sub("", path.read_text()) for path in sorted((SHIM / folder).iterdir())}


def test_core_calls_no_function_of_the_api():
    above = {name for text in texts("api").values() for name in DEFINED.findall(text)}
    assert {"check_mapped", "new_memory", "device_number"} <= above
    calls = {file: sorted(above.intersection(WORD.findall(text))) for file, text in texts("core").items()}
    assert {file: names for file, names in calls.items() if names} == {}


def test_core_includes_no_header_of_the_api():
    included = [line for text in texts("core").values() for line in text.splitlines() if line.startswith("#include")]
    assert included
    assert not [line for line in included if "api/" in line or "common.h" in line or "programs.h" in line]
