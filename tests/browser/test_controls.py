"""Each control of each page is clicked, in a real browser: no script fails, and the page keeps its text."""

from __future__ import annotations

import hostile_reports
import pytest

pytestmark = pytest.mark.browser

CONTROLS = "button, summary, select, input, canvas, a[href^='#'], svg [tabindex], svg rect, tr[tabindex]"
"""All that may be clicked."""
CLICK = f"""(() => {{
  const controls = [...document.querySelectorAll("{CONTROLS}")].slice(0, 200);
  for (const one of controls) one.dispatchEvent(new MouseEvent("click", {{bubbles: true, cancelable: true, view: window}}));
  return [controls.length, document.body.textContent.length];
}})()"""


@pytest.mark.share()
@pytest.mark.parametrize("kind", hostile_reports.PAGES)
def test_each_control_answers(tab, tmp_path, kind):
    page = tmp_path / "page.html"
    page.write_text(hostile_reports.PAGES[kind]("some words"), encoding="utf-8")
    tab.open(page)
    before = len(tab.evaluate("document.body.textContent"))
    count, after = tab.evaluate(CLICK)
    tab.evaluate("new Promise(go => setTimeout(go, 20))")
    assert count > 0
    assert after > before / 2
    assert tab.errors == []


def test_a_control_that_fails_is_seen(tab, tmp_path):
    """The twin: a button whose script fails, and one whose does not."""
    for script, failures in (("missing()", 1), ("void 0", 0)):
        (tmp_path / "page.html").write_text(f"<body><button onclick='{script}'>words</button>")
        tab.open(tmp_path / "page.html")
        assert tab.evaluate(CLICK)[0] == 1
        assert len(tab.errors) == failures
