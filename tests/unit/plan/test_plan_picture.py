"""Pictures of memory plans: where shapes lie, files that parse, pages that stay self-contained."""

import json
import re
import xml.etree.ElementTree as ET

import pytest

from adreno_sim.base.errors import AdrenoSimError
from adreno_sim.cli.main import main
from adreno_sim.compiler.plan import planners
from adreno_sim.compiler.plan.footprint import measure
from adreno_sim.compiler.plan.problem import Item, Problem, from_lifetimes
from adreno_sim.compiler.plan.rules import DeviceRules
from adreno_sim.profiles.profile import load
from adreno_sim.render.plan import html, png, svg
from adreno_sim.render.plan.picture import CROWDED, Line, Picture, Rect, Text, scene_of, ticks

SVG = "{http://www.w3.org/2000/svg}"
NASTY = '</script><img src="x">&'
ITEMS = (
    Item("a", 1024, 0, 4, "global.texture", "float32", (1, 2, 5, 4), dense=640, alignment=64),
    Item(NASTY, 2048, 2, 6, "global", "float32", (512,), dense=2048, alignment=64),
)


def picture(planner="naive"):
    return Picture(planners.plan(planner, Problem(ITEMS, "p")), "model", "rows of 64 bytes")


def tensors(scene):
    return [shape for shape in scene.shapes if isinstance(shape, Rect) and shape.title]


def test_rectangles_are_to_scale():
    one, other = tensors(scene_of(picture()))
    assert one.width == pytest.approx(other.width)
    assert other.height == pytest.approx(2 * one.height)
    assert other.x - one.x == pytest.approx(one.width / 2)  # half its life later
    assert one.y == pytest.approx(other.y + other.height)  # its storage lies above the other's
    assert one.title.splitlines() == [
        "a", "float32 1x2x5x4, global.texture", "1,024 bytes with 384 of padding", "storage 0, offset 0", "live from 0 to 3",
    ]  # fmt: skip
    texts = {shape.text for shape in scene_of(picture()).shapes if isinstance(shape, Text)}
    assert {"offset (kB)", "time (VM instruction)", "global", "global.texture", "padding"} <= texts
    assert "plan = lower bound: 3.07 kB" in texts
    assert "model: memory plan naive" in texts


def test_plan_and_bound_are_two_lines_where_they_differ():
    problem = from_lifetimes([("a", 0, 1, 10), ("b", 1, 2, 10)])
    scene = scene_of(Picture(planners.plan("naive", problem), "trace", "bytes"))
    texts = {shape.text for shape in scene.shapes if isinstance(shape, Text)}
    assert {"plan: 20.00 bytes", "lower bound: 10.00 bytes", "time"} <= texts


def test_svg_is_well_formed_and_names_tensors():
    root = ET.fromstring(svg.svg(scene_of(picture())))
    titles = [element.text or "" for element in root.iter(f"{SVG}title")]
    assert len(titles) == 3
    assert titles[2].startswith(NASTY)
    assert not [element for element in root.iter() if "href" in "".join(element.attrib)]


def test_png_has_the_colours():
    image = pytest.importorskip("PIL.Image")
    import io

    drawn = image.open(io.BytesIO(png.png(scene_of(picture())))).convert("RGB")
    colours = {colour for _, colour in drawn.getcolors(1 << 20)}
    close = {name: min(sum(abs(a - b) for a, b in zip(c, rgb, strict=True)) for c in colours)
             for name, rgb in {"red line": (0xD1, 0x24, 0x2F), "paper": (255, 255, 255)}.items()}  # fmt: skip
    assert drawn.size == (2400, 1520)
    assert max(close.values()) < 24


@pytest.mark.parametrize(
    ("low", "high", "about", "expected"),
    [(0, 7.5, 8, [0, 1, 2, 3, 4, 5, 6, 7]), (4, 204, 10, list(range(20, 201, 20))), (0, 0.9, 2, [0, 0.5]), (3, 3, 5, [3])],
)
def test_ticks(low, high, about, expected):
    assert ticks(low, high, about) == pytest.approx(expected)


def test_nothing_to_draw():
    scene = scene_of(Picture(planners.plan("arena", Problem(())), "empty", "bytes"))
    assert tensors(scene) == []
    assert ET.fromstring(svg.svg(scene)).tag == f"{SVG}svg"


def test_a_crowded_picture_stays_small():
    problem = from_lifetimes([(str(n), n, n + 2, 64) for n in range(CROWDED * 3)])
    scene = scene_of(Picture(planners.plan("arena", problem), "crowd", "bytes"))
    assert len(svg.svg(scene)) < 200_000
    covered = [shape for shape in scene.shapes if isinstance(shape, Rect) and shape.fill == "#b07aa1"]
    assert max(shape.width for shape in covered) > 1000  # what is too small to see is there as a band
    assert any(isinstance(shape, Line) and len(shape.points) > 100 for shape in scene.shapes)


def measured():
    return measure(Problem(ITEMS, "p"), DeviceRules.of_profile(load("adreno-740")), ["naive", "arena"], 'a "model" <x>')


def test_the_page_asks_for_nothing():
    page = html.page(measured(), "arena")
    assert not re.search(r"""(src|href|url|import)\s*[=(]\s*["']?(https?:|//)""", page)
    assert not re.search("@[A-Z]+@", page)  # every place of the template is filled
    assert page.count("</script>") == 2
    assert NASTY not in page
    assert "a &quot;model&quot; &lt;x&gt;" in page
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])
    assert [t[0] for t in data["tensors"]] == ["a", NASTY]
    assert data["planner"] == "arena"
    assert [p["planner"] for p in data["plans"]] == ["naive", "arena"]
    assert data["plans"][0]["bases"] == [0, 1024]
    with pytest.raises(AdrenoSimError, match="planner 'tvm' has no plan to draw"):
        html.page(measured(), "tvm")


def test_files_from_the_command_line(tmp_path, capsys):
    pytest.importorskip("PIL")
    trace = tmp_path / "t.csv"
    trace.write_text("id,lower,upper,size\na,0,3,64\nb,1,2,32\n")
    files = {kind: tmp_path / f"p.{kind}" for kind in ("html", "svg", "png")}
    flags = [word for kind, file in files.items() for word in (f"--{kind}", str(file))]
    assert main(["footprint", str(trace), "--planners", "naive,arena", "--draw", "naive", *flags]) == 0
    assert files["png"].read_bytes().startswith(b"\x89PNG")
    assert "memory plan naive" in files["svg"].read_text()
    assert '"planner":"naive"' in files["html"].read_text()
