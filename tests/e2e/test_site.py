"""The site of the documentation: every link and anchor leads somewhere, every fence is one, every page is listed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parents[2]
CONFIG = ROOT / "ci" / "site" / "mkdocs.yml"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("mkdocs")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--config-file", CONFIG, "--site-dir", folder]
    done = subprocess.run(command, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_every_page_is_there_and_none_shows_its_markup(site):
    wanted = {page.stem for page in (ROOT / "docs").glob("*.md")} | {"index", "contributing", "changelog"}
    assert wanted <= {page.stem for page in site.glob("*.html")}
    for name in sorted(wanted):
        text = re.sub(r"<[^>]*>", "", (site / f"{name}.html").read_text(encoding="utf-8"))
        assert "```" not in text, name
        assert "](" not in text, name


def test_the_front_page_names_every_page(site):
    """What the list on the left does not name, no one finds."""
    front = (site / "index.html").read_text(encoding="utf-8")
    missing = [page.stem for page in (ROOT / "docs").glob("*.md") if f'href="{page.stem}.html"' not in front]
    assert not missing


def test_no_page_fetches_anything_and_the_index_is_a_script(site):
    """The search of a folder of files: browsers read no JSON and start no worker there."""
    for page in site.rglob("*.html"):
        sources = re.findall(r'<(?:script|link|img)[^>]*?\b(?:src|href)="([^"]+)"', page.read_text(encoding="utf-8"))
        assert not [source for source in sources if source.startswith(("http:", "https:", "//"))], page
        scripts = [page.parent / source for source in sources if source.endswith("frame_worker.js") and source[0] != "/"]
        assert page.name == "404.html" or [script.resolve() for script in scripts] == [
            (site / "assets/frame_worker.js").resolve()
        ]
    assert (site / "assets/frame_worker.js").exists()
    assert (site / "search/search_index.js").exists()
