"""Hooks of mkdocs: the pages above docs/ join the site, and the repository's links and fences become those of a site."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]
TOP = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security-policy.md",
}
"""Pages above docs/ -> their names in the site."""

LINK = re.compile(r"(\]\()([^)#:\s]*)")
FENCE = re.compile(r"^```(\w+)(?: (\S+))?$", re.MULTILINE)
LANGUAGES = {"opencl": "c", "output": "text"}
"""What the highlighter calls them."""


def on_files(files: Any, config: Any) -> Any:
    for source, name in TOP.items():
        files.append(File.generated(config, name, content=(ROOT / source).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """A fence "language FILE" gets its file as the title; links lead to the pages of the site."""
    return LINK.sub(lambda found: found[1] + _site_path(found[2]), FENCE.sub(_named_fence, markdown))


def _named_fence(found: re.Match[str]) -> str:
    title = f' title="{found[2]}"' if found[2] else ""
    return f"```{LANGUAGES.get(found[1], found[1])}{title}"


def _site_path(target: str) -> str:
    name = target.removeprefix("../").removeprefix("docs/")
    return TOP.get(name, name)
