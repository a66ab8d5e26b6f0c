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

THEIR_WORKER, OUR_WORKER = "https://unpkg.com/iframe-worker/shim", "assets/frame_worker.js"
"""The script that the theme's search needs where the site is a folder of files: theirs would come from a server."""

LINK = re.compile(r"(\]\()([^)#:\s]*)")
FENCE = re.compile(r"^```(\w+)(?: (\S+))?$", re.MULTILINE)
LANGUAGES = {"opencl": "c", "output": "text"}
"""What the highlighter calls them."""


def on_files(files: Any, config: Any) -> Any:
    for source, name in TOP.items():
        files.append(File.generated(config, name, content=(ROOT / source).read_text(encoding="utf-8")))
    script = (Path(__file__).parent / "frame_worker.js").read_text(encoding="utf-8")
    files.append(File.generated(config, OUR_WORKER, content=script))
    return files


def on_post_page(output: str, page: Any, **_: Any) -> str:
    return _with_own_worker(output, "../" * page.url.count("/"))


def on_post_template(output_content: str, template_name: str, **_: Any) -> str:
    return _with_own_worker(output_content, "/") if template_name == "404.html" else output_content


def _with_own_worker(page: str, base: str) -> str:
    """A page whose script for a search without a server is the site's own. base: of its links."""
    if THEIR_WORKER not in page:
        raise ValueError(f"expected {THEIR_WORKER} in each page: the theme's search has changed, see ci/site/frame_worker.js")
    return page.replace(THEIR_WORKER, base + OUR_WORKER)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """A fence "language FILE" gets its file as the title; links lead to the pages of the site."""
    up = "../" * page.file.src_uri.count("/")
    return LINK.sub(lambda found: found[1] + _site_path(found[2], up), FENCE.sub(_named_fence, markdown))


def _named_fence(found: re.Match[str]) -> str:
    title = f' title="{found[2]}"' if found[2] else ""
    return f"```{LANGUAGES.get(found[1], found[1])}{title}"


def _site_path(target: str, up: str) -> str:
    """Where a link of a page leads in the site. up: the way from the page to docs/."""
    name = target.removeprefix(f"{up}../").removeprefix("docs/")
    return up + TOP[name] if name in TOP else name
