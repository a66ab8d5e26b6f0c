"""The charts of docs/benchmarks.md are those of the tables that lie beside the benchmarks."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def charts() -> ModuleType:
    spec = importlib.util.spec_from_file_location("charts", ROOT / "ci" / "bench" / "charts.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["charts"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_charts_are_drawn_from_the_last_figures(charts: ModuleType) -> None:
    drawn = charts.draw_all()
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert len(drawn) == 6
    for name, text in drawn.items():
        ElementTree.fromstring(text)
        assert f"(benchmarks/{name})" in page
        assert (ROOT / "docs" / "benchmarks" / name).read_text(encoding="utf-8") == text, "python ci/bench/charts.py"


def test_a_table_that_is_not_there_is_named(charts: ModuleType, tmp_path: Path) -> None:
    file = tmp_path / "R.md"
    file.write_text("\n## Kernels\n\n| part | x |\n|---|---|\n| all | 1 |\n", encoding="utf-8")
    assert charts.read_table(file, "## Kernels", "part") == [{"part": "all", "x": "1"}]
    for section, first in (("## Kernels", "case"), ("## Networks", "part")):
        with pytest.raises(ValueError, match=f"{first} in {section}"):
            charts.read_table(file, section, first)


def test_a_value_outside_the_scale_widens_it(charts: ModuleType) -> None:
    """Each dot is where the ticks say, also one that nobody expected: a tenth is as far from 1 as 10."""
    text = charts.dots("", {"": {"kernel": [0.1, 1, 10]}}, charts.Scale(0.5, 2, (0.5, 1, 2)))
    circles = ElementTree.fromstring(text).iter("{http://www.w3.org/2000/svg}circle")
    left, middle, right = (float(circle.attrib["cx"]) for circle in circles)
    assert (left, right) == (charts.LEFT, charts.WIDTH - charts.RIGHT)
    assert middle == pytest.approx((left + right) / 2)
