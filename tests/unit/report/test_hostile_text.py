"""Whatever the names in a result are, every output of it says them without harm: each result, each form, each kind of text."""

from __future__ import annotations

import hostile_reports
import hostile_text
import pytest
from hostile_text import LONG, TEXTS

from adreno_sim.base import pytest_outcomes
from adreno_sim.render.plan.picture import Picture, scene_of
from adreno_sim.render.plan.png import png


@pytest.fixture(params=TEXTS)
def text(request):
    return TEXTS[request.param]


def test_pages(text):
    for make_page in hostile_reports.PAGES.values():
        hostile_text.check_page(make_page(text))


def test_json(text):
    for _, said in hostile_reports.list_json(text):
        hostile_text.check_json(said)


def test_printed_text(text):
    for _, said in hostile_reports.list_texts(text):
        hostile_text.check_printed(said)


def test_workflow_commands(text):
    for line in hostile_reports.list_commands(text):
        assert line.startswith(("::error ", "::warning ", "::notice "))
        hostile_text.check_printed(line.removeprefix("::"))


def test_markdown(text, tmp_path):
    for _, said in hostile_reports.list_markdown(text, tmp_path):
        hostile_text.check_markdown(said)


def test_a_picture_of_pixels(text):
    pytest.importorskip("PIL")
    made = hostile_reports.footprint(text)
    assert png(scene_of(Picture(made.allocations[1], text, text))).startswith(b"\x89PNG")


def test_a_failed_test(text):
    with pytest.raises(pytest.fail.Exception) as failed:
        pytest_outcomes.fail(text)
    hostile_text.check_printed(str(failed.value))


@pytest.mark.slow
def test_a_name_of_a_megabyte(tmp_path):
    for make_page in hostile_reports.PAGES.values():
        hostile_text.check_page(make_page(LONG))
    for _, said in hostile_reports.list_json(LONG):
        hostile_text.check_json(said)
    for _, said in hostile_reports.list_texts(LONG):
        hostile_text.check_printed(said)
    for _, said in hostile_reports.list_markdown(LONG, tmp_path):
        hostile_text.check_markdown(said)
    for _, said in hostile_reports.list_pictures(LONG):
        hostile_text.check_svg(said)


def test_pictures(text):
    for _, said in hostile_reports.list_pictures(text):
        hostile_text.check_svg(said)
