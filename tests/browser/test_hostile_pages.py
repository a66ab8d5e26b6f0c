"""Pages full of hostile text in a real browser: nothing in them runs but the page's own script."""

from __future__ import annotations

import re

import hostile_reports
import pytest
from hostile_text import RAN, TEXTS

from adreno_sim.render.page import document

pytestmark = pytest.mark.browser


def has_run(dom: str) -> bool:
    return "data-ran" in re.match(r"<html[^>]*>", dom)[0]


@pytest.fixture
def browse_text(tab, tmp_path):
    """browse_text(page) -> the document after its scripts ran."""

    def open_page(page):
        (tmp_path / "page.html").write_text(page, encoding="utf-8")
        tab.open(tmp_path / "page.html")
        return tab.evaluate("document.documentElement.outerHTML")

    return open_page


@pytest.mark.share()
@pytest.mark.parametrize("kind", hostile_reports.PAGES)
def test_no_text_runs(browse_text, kind):
    dom = browse_text(hostile_reports.PAGES[kind](TEXTS["all"]))
    assert not has_run(dom)
    assert kind != "plan" or 'data-tensors="3"' in dom  # and the page's own script did


@pytest.mark.share()
@pytest.mark.parametrize("name", ["template", "element", "attribute", "end of script", "comment", "lines", "direction"])
def test_no_name_of_a_tensor_runs(browse_text, name):
    dom = browse_text(hostile_reports.PAGES["plan"](TEXTS[name]))
    assert not has_run(dom)
    assert 'data-tensors="3"' in dom


def test_what_would_run_is_seen(browse_text):
    """The twin: such text in a page that neither escapes nor forbids it."""
    assert has_run(browse_text(f"<!doctype html><html><head></head><body>{TEXTS['element']}</body></html>"))


def test_the_policy_stops_what_is_not_escaped(browse_text):
    dom = browse_text(document("t", "", [TEXTS["element"], TEXTS["end of script"]], "document.title = 'own'"))
    assert not has_run(dom)
    assert "<title>own</title>" in dom
    assert RAN in dom
