"""The page of memory plans in a real browser: it runs, draws, says what a tensor is, and opens with 10,000 of them."""

import time

import handmade
import pytest

from adreno_sim.cli.main import main
from adreno_sim.compiler.plan.footprint import measure
from adreno_sim.compiler.plan.problem import Item, Problem, from_lifetimes
from adreno_sim.compiler.plan.rules import DeviceRules
from adreno_sim.profiles.profile import load
from adreno_sim.render.plan.html import write_html

pytestmark = pytest.mark.browser


@pytest.fixture
def browse(tmp_path, browse_file):
    """browse(problem, planners, fragment) -> the page of the plan of the last planner, as `browse_file`."""

    def open_page(problem, planners, fragment="", *more):
        footprint = measure(problem, DeviceRules.of_profile(load("adreno-740")), planners, "model")
        write_html(tmp_path / "page.html", footprint, planners[-1])
        return browse_file(f"{tmp_path / 'page.html'}{fragment}", *more)

    return open_page


ITEMS = (
    Item("conv", 1024, 0, 4, "global.texture", "float32", (1, 2, 5, 4), dense=640, alignment=64),
    Item("pool", 2048, 2, 6, "global", "float32", (512,), dense=2048, alignment=64),
    Item("add", 1024, 4, 8, "global.texture", "float32", (1, 2, 5, 4), dense=640, alignment=64),
)


def test_the_page_draws_every_tensor_and_lists_every_planner(browse):
    dom = browse(Problem(ITEMS, "p"), ["naive", "arena"])
    assert 'data-tensors="3"' in dom
    assert 'data-drawn="3"' in dom
    assert "Plan arena: 3,072 bytes in 1 storage, lower bound 3,072" in dom
    assert "3 of 3 tensors drawn" in dom
    assert "<td>naive</td><td>4,096</td><td>1.333</td><td>3</td><td>-</td>" in dom
    assert "padding (pale band)" in dom
    assert "global.texture" in dom


def test_a_tensor_tells_what_it_is(browse):
    dom = browse(Problem(ITEMS, "p"), ["arena"], "#add")
    tip = dom[dom.index('id="tip"') :]
    for said in ("add", "float32 1x2x5x4, global.texture", "1,024 bytes with 384 of padding", "live from 4 to 7"):
        assert said in tip
    assert 'hidden=""' not in tip[: tip.index(">")]
    hidden = browse(Problem(ITEMS, "p"), ["arena"])
    assert 'hidden=""' in hidden[hidden.index('id="tip"') :][:60]


def test_ten_thousand_tensors_open(browse):
    rows = [(f"t{n}", n, n + 3 + n % 5, 64 * (1 + n % 7)) for n in range(10_000)]
    start = time.perf_counter()
    dom = browse(from_lifetimes(rows, alignment=64), ["tflite-arena"])
    assert time.perf_counter() - start < 60
    assert 'data-tensors="10000"' in dom
    assert "smaller than a pixel are marks until you zoom in" in dom


def test_pixels_have_the_colours_of_the_scopes(browse, browse_file, tmp_path):
    image = pytest.importorskip("PIL.Image")
    browse(Problem(ITEMS, "p"), ["arena"])
    shot = tmp_path / "shot.png"
    browse_file(tmp_path / "page.html", f"--screenshot={shot}")
    colours = dict.fromkeys(colour for _, colour in image.open(shot).convert("RGB").getcolors(1 << 22))
    for wanted in ((0x9E, 0xC5, 0xEE), (0xDC, 0xB8, 0xD8), (0xC2, 0x1F, 0x2C)):
        assert min(sum(abs(a - b) for a, b in zip(colour, wanted, strict=True)) for colour in colours) < 40


@pytest.mark.parametrize("width", [400, 1400])
def test_the_page_of_a_model_opens_on_what_to_do(browse_file, tmp_path, width):
    handmade.texture().save(tmp_path / "model.asim")
    assert main(["footprint", str(tmp_path / "model.asim"), "--html", str(tmp_path / "page.html")]) == 0
    dom = browse_file(tmp_path / "page.html", f"--window-size={width},1000")
    assert 'data-fits="true"' in dom  # nothing hangs over the right edge
    assert "As compiled: 2.8 kB" in dom
    assert f"adreno-sim check {tmp_path / 'model.asim'} --plan arena" in dom
    assert dom.index("Try next") < dom.index("Tensors at the peak") < dom.index("Planners side by side")
    assert "twice after copy to global.texture" in dom
    assert "Plan as compiled" in dom


def test_a_trace_has_nothing_compiled_to_advise_about(browse):
    assert "Tensors at the peak" not in browse(Problem(ITEMS, "p"), ["arena"])
