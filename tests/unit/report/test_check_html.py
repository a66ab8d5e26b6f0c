"""The page of a check: complete, safe whatever names and sources hold, asks for nothing from outside."""

from html.parser import HTMLParser

from adreno_sim.findings import Access, Finding, Kind, WorkItem
from adreno_sim.render.report import html
from adreno_sim.results.model import KernelReport, OutputReport, Report

SOURCE = "kernel void conv(global float* y) {\n  if (1 < 2 && 1) y[0] = 1; // </pre><script>\n}\n"


class Page(HTMLParser):
    """Checks that elements nest; collects texts by the element they are in, and every attribute."""

    def __init__(self, text):
        super().__init__()
        self.open, self.texts, self.attributes = [], {}, []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.attributes += attributes
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open:
            self.texts[self.open[-1]] = self.texts.get(self.open[-1], "") + data


def report():
    made = Report("net<img src=x>", "texture", "fixed", (), "adreno-740", "bounds", 0, "0.27")
    made.kernels_in_model = 2
    made.kernels = [KernelReport("conv", "conv", 1, 0.001, compared=1, wrong=1, max_abs=2.0, max_ulp=9, worst_index=(1, 2))]
    item = WorkItem((5, 0, 0), (1, 0, 0), (1, 0, 0))
    access = Access("y", 4, offset=0, extent=(4,))
    stores = [{"order": 1, "value": 1.0, "global_id": (5, 0, 0), "kernel": "conv", "line": 2, "column": 3, "source": "y[0] = 1;"}]
    detail = {"source": "y[0] = 1;", "stores": stores}
    made.findings = [
        Finding(Kind.PLAN_INFLATED, "much"),
        Finding(Kind.WRONG_VALUE, "a < b", "conv", 2, 19, item, access, detail=detail),
    ]
    made.sources = {"conv": SOURCE}
    made.outputs = [OutputReport("prob", "TVM llvm", False, "", 1.0, 5, (0,), 1.0)]
    made.unchecked = ["kernel <pool>: never launched"]
    return made


def test_the_page_of_a_check():
    page = Page(html.of_report(report()))
    assert page.texts["title"] == "net<img src=x> on adreno-740"
    assert page.texts["summary"].index("wrong-value: a < b") < page.texts["summary"].index("plan-inflated")
    assert page.texts["mark"] == "    2   if (1 < 2 && 1) y[0] = 1; // </pre><script>"
    assert "stores that touched this element" in page.texts["pre"]
    assert "kernel <pool>: never launched" in page.texts["li"]
    assert "prob DIFFERS from TVM llvm (max abs 1.00e+00, 5 ulp, rms 1.00e+00)" in page.texts["li"]
    assert "1,2" in page.texts["td"]
    assert not {"src", "href", "onclick", "style"} & {name for name, _ in page.attributes}


def test_the_page_of_a_launch():
    page = Page(html.of_launch("t", [Finding(Kind.DATA_RACE, "two", "conv", 99, 1)], SOURCE, "error: data-race: two"))
    assert page.texts["strong"] == "error: data-race: two"
    assert "mark" not in page.texts
