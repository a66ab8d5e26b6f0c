"""llama.cpp's OpenCL back end on simulated phones: what it prints when it starts, compared with public logs, and what it builds.

ADRENO_SIM_LLAMA names llama.cpp's test-backend-ops, of a build as in ci/clients.sh. The branches take minutes for each phone:
llama.cpp builds some 200 programs, which a second run finds in the cache.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from adreno_sim.profiles.user_profile import tomllib

PROGRAM = os.environ.get("ADRENO_SIM_LLAMA")
LOGS = tomllib.loads(Path(__file__).with_name("llama_logs.toml").read_text(encoding="utf-8"))
PREFIX = "ggml_opencl: "

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PROGRAM, reason="ADRENO_SIM_LLAMA: llama.cpp's test-backend-ops"),
]


def start(phone: str, log: Path, operator: str) -> tuple[str, list[str]]:
    """What llama.cpp prints on a phone, and its calls of OpenCL. operator: what it tests; without a case, it builds no kernel."""
    words = [sys.executable, "-m", "adreno_sim", "run", "--device", f"sim:{phone}", "--checks", "off", "--log", str(log)]
    words += ["--", str(PROGRAM), "test", "-o", operator]
    settings = {"GGML_OPENCL_KERNEL_CACHE_DIR": "off", "OMP_THREAD_LIMIT": "1"}
    done = subprocess.run(words, capture_output=True, text=True, check=False, env={**os.environ, **settings})
    return done.stdout + done.stderr, log.read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("phone", LOGS)
def test_it_prints_what_public_logs_of_the_phone_show(phone: str, tmp_path: Path) -> None:
    text, _ = start(phone, tmp_path / "log", "NO_SUCH_OPERATOR")
    lines = {line.removeprefix(PREFIX) for line in text.splitlines() if line.startswith(PREFIX)}
    assert set(LOGS[phone]["lines"]) <= lines, LOGS[phone]["source"]


@pytest.mark.parametrize("phone", [name for name, facts in LOGS.items() if "branches" in facts])
def test_it_takes_the_branches_of_the_phones_compiler(phone: str, tmp_path: Path) -> None:
    text, calls = start(phone, tmp_path / "log", "SQR")
    built = [call for call in calls if " clBuildProgram(" in call]
    failed = [call for call in built if "CL_SUCCESS" not in call]
    found = {
        "old": any("-DADRENO_OLD_COMPILER=1" in call for call in built),
        "flat_1d": any("kernel_mul_mat_q4_0_f32_1d_" in call for call in calls),
        "broadcast": any(re.search("-DVECTOR_SUB_GROUP_BROADCA(S?)T", call) for call in built),
    }
    assert found == LOGS[phone]["branches"]
    assert len(built) > 40
    cause = LOGS[phone].get("fails_at")
    assert len(failed) == bool(cause)
    assert cause in text if cause else "6/6 tests passed" in text
