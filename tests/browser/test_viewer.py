"""Pages of findings in a real browser: clicked through, with the keyboard, in both colour schemes, from 400 to 1,400 pixels."""

from __future__ import annotations

import os
from pathlib import Path

import handmade
import hostile_reports
import numpy as np
import pytest
from devtools import CONTRAST, Browser

import adreno_sim
from adreno_sim.cli.main import main
from adreno_sim.findings import Finding, Kind
from adreno_sim.render.report.html import write_html

pytestmark = pytest.mark.browser

KERNEL = """\
kernel void store(write_only image2d_t y, global const float *x) {
  int i = get_global_id(0);
  write_imagef(y, (int2)(i / 4, 0), (float4)(x[i]));
}
"""
LAUNCH = """\
global_size = [32]
local_size = [8]
[run]
checks = "full"
[[argument]]
kind = "image2d"
width = 8
height = 1
[[argument]]
kind = "buffer"
dtype = "float32"
count = 32
data = "arange"
[[output]]
argument = 0
data = "arange"
"""


@pytest.fixture(scope="module")
def kernel_page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kernel")
    (folder / "store.cl").write_text(KERNEL)
    (folder / "store.toml").write_text(LAUNCH)
    command = ["kernel", str(folder / "store.cl"), "--launch", str(folder / "store.toml"), "--html", str(folder / "kernel.html")]
    assert main(command) == 1
    return folder / "kernel.html"


def look_at_sizes_and_schemes(tab: Browser, page: Path) -> None:
    """The page fits, is legible, and asks for nothing; ADRENO_SIM_PICTURES names a folder that gets pictures."""
    folder = os.environ.get("ADRENO_SIM_PICTURES")
    for width in (1400, 400):
        for scheme in ("light", "dark"):
            tab.open(page, width, scheme=scheme)
            tab.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
            tab.evaluate("new Promise(go => setTimeout(go, 50))")
            assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth"), (width, scheme)
            found = tab.evaluate(CONTRAST)
            assert found["seen"] > 3, (width, scheme, found)
            assert found["poor"] == [], (width, scheme, found)
            dark = tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(13, 17, 23)"
            assert dark == (scheme == "dark")
            if folder:
                tab.photograph(Path(folder, f"{page.stem}-{width}-{scheme}.png"))
            assert [url for url in tab.request_of if url != f"file://{page}"] == []


def test_a_kernel_is_looked_into(tab, kernel_page):
    tab.open(kernel_page)
    assert tab.evaluate("document.querySelector('header p').textContent").startswith("adreno-sim ")
    race = "details[data-finding='0']"
    tab.click(f"{race} summary")  # errors are open
    assert not tab.evaluate(f'document.querySelector("{race}").open')
    tab.evaluate(f'document.querySelector("{race} summary").focus()')
    tab.press("Enter", 13)
    shown = tab.evaluate(f'document.querySelector("{race}").innerText')
    rows = tab.evaluate(f"[...document.querySelectorAll(\"{race} .look tbody tr\")].map(row => row.innerText.split('\\t'))")
    assert sorted(row[1] for row in rows) == ["0", "1", "2", "3"]
    assert {row[4] for row in rows} == {"store:3"}
    assert rows[-1][2] == "(3, 0, 0)"
    assert "work-item (2, 0, 0) writes it in line 3" in shown
    assert "24 of 32 wrong" in shown
    assert "y texel (0, 0), channel x · got 3 · expected 0 · wrong, off by 3" in shown
    tab.click(f"{race} canvas")
    tab.press("Home", 36)
    tab.press("ArrowRight", 39)
    at = f'document.querySelector("{race} .at[role=status]").textContent'
    assert tab.evaluate(at) == "y texel (0, 0), channel y · got 3 · expected 1 · wrong, off by 2"
    tab.press("n", 78)
    assert tab.evaluate(at).startswith("y texel (0, 0), channel z")
    tab.click(".tabs button", 1)
    assert tab.evaluate("document.querySelector('#looks .soft').textContent") == "x: float32 32; nothing is expected of it"
    look_at_sizes_and_schemes(tab, kernel_page)


@pytest.fixture(scope="module")
def check_page(tmp_path_factory):
    """The page of a check whose last call is wrong in two elements."""
    report = adreno_sim.check(handmade.texture(), device="sim:adreno-740", plan="arena")
    assert report.evidence is not None
    assert [call.name for call in report.evidence.calls] == ["twice"] * 3
    tensor, kernel = report.evidence.calls[2].writes[0], report.evidence.calls[2].launches[0][0]
    right = np.arange(120, dtype="f4").reshape(2, 3, 5, 4)
    got = right.copy()
    got[1, 0, 2, 3], got[1, 2, 4, 0] = 7, np.nan
    report.evidence.add_array(tensor, kernel, got, right)
    detail = {"call": 2, "index": (1, 0, 2, 3), "got": 7.0, "golden": 71.0, "stores": []}
    report.findings.append(Finding(Kind.WRONG_VALUE, "differs", kernel, tensor=tensor, detail=detail))
    page = tmp_path_factory.mktemp("check") / "check.html"
    write_html(page, report, "adreno-sim check model.asim")
    return page


def test_a_model_is_looked_into(tab, check_page):
    tab.open(check_page)
    shown = tab.evaluate('document.querySelector("details[data-finding]").innerText')
    assert "No store touched it" in shown
    assert "[1, 0, 2, 3] · got 7 · expected 71 · wrong, off by 64" in shown
    assert "t2 in the memory plan" in shown
    assert "its storage also holds xt, t0, t1, out" in shown
    assert tab.evaluate("document.querySelectorAll('.plan rect.on').length") == 1
    assert tab.evaluate("[...document.querySelectorAll('.calls button')].map(one => one.className)") == ["", "", "bad"]
    assert tab.evaluate("document.querySelectorAll('.calls path').length") == 2
    tab.click(".calls button", 1)
    about = "document.querySelector('.about').innerText"
    assert "t0: float32 2x3x5x4, global.texture" in tab.evaluate(about)
    assert "finding 1" not in tab.evaluate(about)
    tab.press("ArrowDown", 40)
    assert "finding 1" in tab.evaluate(about)
    assert tab.evaluate("document.querySelectorAll('.calls path.on').length") == 1
    tab.click(".about button")
    assert tab.evaluate("document.activeElement.tagName") == "SUMMARY"
    look_at_sizes_and_schemes(tab, check_page)


def test_the_switch_goes_before_the_system(tab, kernel_page):
    tab.open(kernel_page, scheme="light")
    colour = "getComputedStyle(document.body).backgroundColor"
    light = tab.evaluate(colour)
    for way in ("light", "dark", "auto"):
        tab.click("#scheme")
        assert tab.evaluate("document.getElementById('scheme').textContent") == way
        assert (tab.evaluate(colour) == light) == (way != "dark")


@pytest.mark.share()
@pytest.mark.parametrize("kind", hostile_reports.PAGES)
def test_every_page_is_legible_and_fits(tab, tmp_path, kind):
    page = tmp_path / f"page of {kind}.html".replace(" ", "-")
    page.write_text(hostile_reports.PAGES[kind]("some words"), encoding="utf-8")
    look_at_sizes_and_schemes(tab, page)


def test_poor_contrast_is_seen(tab, tmp_path):
    """The twin: grey on white, just too pale, and the darker one that is not."""
    for colour, count in (("#777777", 1), ("#767676", 0)):
        (tmp_path / "grey.html").write_text(f"<body style='background:#fff'><p style='color:{colour}'>words</p>")
        tab.open(tmp_path / "grey.html")
        assert len(tab.evaluate(CONTRAST)["poor"]) == count
