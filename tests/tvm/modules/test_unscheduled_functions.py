"""What needs the functions before they are scheduled can begin while they are: `lower` gives them at once, and once."""

import pytest

pytest.importorskip("tvm")
from clml_modules import conv, module
from tvm import relax

from adreno_sim import AdrenoSimError
from adreno_sim.compiler.lower import pipeline
from adreno_sim.compiler.tvm_bridge.versions import import_tvm

pytestmark = pytest.mark.tvm


def lower_noting(monkeypatch, **options):
    """The lowered module, what `begin` got, and whether the functions were scheduled when it was called."""
    lower_tir, found, events = pipeline._lower_tir, [], []

    def begin(unscheduled):
        found.append(unscheduled)
        events.append(str(import_tvm().target.Target.current().kind.name))

    monkeypatch.setattr(pipeline, "_lower_tir", lambda *args: events.append("scheduled") or lower_tir(*args))
    network = module(lambda x: relax.op.nn.relu(conv(x, 8)), (1, 4, 8, 8))
    return pipeline.lower(network, "texture", begin=begin, **options), found, events


@pytest.mark.parametrize("name", ["fixed", "stock"])
def test_they_are_given_before_they_are_scheduled(monkeypatch, name):
    lowered, found, events = lower_noting(monkeypatch, pipeline=name)
    assert events == ["llvm", "scheduled"]
    assert len(found) == 1
    assert found[0].same_as(lowered.unscheduled)
    functions = {str(var.name_hint): function for var, function in found[0].functions_items()}
    for var, function in pipeline._prim_funcs(lowered.relax).functions_items():
        assert "tirx.is_scheduled" in function.attrs
        assert "tirx.is_scheduled" not in (functions[str(var.name_hint)].attrs or {})


def test_a_pipeline_of_the_callers_gives_them_too(monkeypatch):
    target = pipeline.make_target("buffer")
    lowered, found, events = lower_noting(monkeypatch, pipeline=lambda mod: default_passes(target)(mod))
    assert events == ["llvm", "scheduled"]
    assert [one.same_as(lowered.unscheduled) for one in found] == [True]


def default_passes(target):
    with target:
        return relax.get_default_pipeline(target)


@pytest.mark.parametrize("kind", [AdrenoSimError, RuntimeError])
def test_an_error_of_what_is_begun_is_not_blamed_on_a_pass(kind):
    def refuse(_):
        raise kind("reference of add: there is no such function")

    with pytest.raises(kind, match=r"^reference of add: there is no such function$"):
        pipeline.lower(module(relax.op.nn.relu, (1, 4, 8, 8)), "texture", begin=refuse)
