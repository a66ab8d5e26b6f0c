"""`python -m adreno_sim.profiles`: write the page of evidence, in a checkout."""

from __future__ import annotations

from pathlib import Path

from ..base.output_file import write_text
from .tables_page import make_page

if __name__ == "__main__":
    write_text(Path(__file__).parents[2] / "docs" / "devices-evidence.md", make_page())
