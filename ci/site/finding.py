"""Draws docs/finding.svg: what `adreno-sim check` says of squeezenet with TVM's own passes, as a terminal shows it.

python ci/site/finding.py        the first finding alone; a line of source wider than the picture ends in an ellipsis
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import onnx
from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parents[2]
MODEL = Path(onnx.__file__).parent / "backend/test/data/light/light_squeezenet.onnx"
COMMAND = ("check", "squeezenet.onnx", "--pipeline", "stock")
WIDTH = 126
END = "warning: "
"""The line behind the finding begins so."""


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "squeezenet.onnx").symlink_to(MODEL)
        environment = os.environ | {"FORCE_COLOR": "1", "COLUMNS": str(WIDTH), "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, "-m", "adreno_sim", *COMMAND], cwd=folder, env=environment, capture_output=True, text=True
        )
    lines = Text.from_ansi(done.stdout).split()
    wanted = [line for line in lines if not line.plain.startswith(("memory plan", "tensors before", "bounds: ", "time: "))]
    ends = [number for number, line in enumerate(wanted) if line.plain.startswith(END)]
    if done.returncode != 1 or not ends:
        print(f"error: expected a finding (exit code 1), got {done.returncode}: {done.stderr[-500:]}", file=sys.stderr)
        return 1
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Text(f"$ adreno-sim {' '.join(COMMAND)}", "bold"))
    for line in [*wanted[: ends[0]], *lines[-1:]]:
        if line.plain.strip() and not line.plain.startswith("not checked"):
            whole = line.plain.startswith("error")
            console.print(line, no_wrap=not whole, overflow="fold" if whole else "ellipsis", highlight=False)
    (ROOT / "docs" / "finding.svg").write_text(console.export_svg(title="adreno-sim"), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
