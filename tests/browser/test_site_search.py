"""The search of the documentation's site, opened as a folder of files, without a network."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.browser

CONFIG = Path(__file__).parents[2] / "ci" / "site" / "mkdocs.yml"
FOUND = "[...document.querySelectorAll('.md-search-result__link')].map(link => link.getAttribute('href'))"


def test_the_search_works_offline(tab, tmp_path):
    pytest.importorskip("mkdocs")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--config-file", CONFIG, "--site-dir", tmp_path / "site"]
    subprocess.run(command, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, check=True)
    tab.call("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=0, uploadThroughput=0)
    try:
        tab.open(tmp_path / "site" / "index.html")
        tab.evaluate("document.querySelector('[data-md-component=search-query]').focus()")
        tab.call("Input.insertText", text="texture-store")
        until = time.monotonic() + 60
        while not (found := tab.evaluate(FOUND)) and time.monotonic() < until:
            time.sleep(0.1)
    finally:
        tab.call("Network.emulateNetworkConditions", offline=False, latency=0, downloadThroughput=-1, uploadThroughput=-1)
    assert any(link.partition("#")[0].endswith("defects.html") for link in found)
    assert not [url for url in tab.request_of if url.startswith("http")]
