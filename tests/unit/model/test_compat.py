"""Which TVM and ffi pairs may be imported; nothing here needs TVM."""

import pytest

from adreno_sim import AdrenoSimError, UnsupportedError
from adreno_sim.base.installed import extras
from adreno_sim.compiler.tvm_bridge import versions


@pytest.mark.parametrize(
    ("tvm", "ffi"), [("0.25.0.post1", "0.1.12"), ("0.26.0", "0.1.14.post1"), ("0.27.0.post1", "0.1.14.post1")]
)
def test_good_pairs_pass(tvm, ffi):
    versions.check_pair(tvm, ffi)


BAD_PAIRS = [
    ("0.25.0.post1", "0.1.13"), ("0.25.0", "0.1.15"), ("0.26.0", "0.1.13"), ("0.26.0", "0.1.15.post2"),
    ("0.27.0.post1", "0.1.12"), ("0.27.0.post1", "0.1.15"), ("0.27.0", "0.2.0"), ("0.27.0", None),
]  # fmt: skip


@pytest.mark.parametrize(("tvm", "ffi"), BAD_PAIRS)
def test_crashing_pairs_are_refused_with_the_pip_line(tvm, ffi):
    with pytest.raises(AdrenoSimError) as caught:
        versions.check_pair(tvm, ffi)
    assert tvm in str(caught.value)
    for requirement in versions.GOOD_PAIRS[versions.series(tvm)]:
        assert f"'{requirement}'" in str(caught.value)


@pytest.mark.parametrize("tvm", ["0.19.0", "0.24.0", "0.28.0.dev3", "1.0"])
def test_other_series_are_unsupported(tvm):
    with pytest.raises(UnsupportedError, match=f"unsupported: TVM {tvm}"):
        versions.check_pair(tvm, "0.1.14")


def test_versions_compare_as_numbers_not_text():
    assert versions.numbers("0.1.9") < versions.numbers("0.1.14.post1") < versions.numbers("0.1.15rc1")
    assert versions.series("0.27.0.post1+cu12") == "0.27"


def test_the_pair_is_judged_before_tvm_is_imported(monkeypatch):
    """A bad pair ends the process on import, so the refusal must come from the metadata."""
    monkeypatch.setattr(versions, "_installed_version", {"apache-tvm": "0.27.0.post1", "apache-tvm-ffi": "0.1.15"}.get)
    monkeypatch.setattr("builtins.__import__", _no_tvm(__import__))
    versions.import_tvm.cache_clear()
    with pytest.raises(AdrenoSimError, match=r"0\.1\.15"):
        versions.import_tvm()
    versions.import_tvm.cache_clear()


def test_a_missing_tvm_is_one_clear_line(monkeypatch):
    monkeypatch.setattr(versions, "_installed_version", lambda _: None)
    monkeypatch.setattr(extras, "find_spec", lambda _: None)
    versions.import_tvm.cache_clear()
    with pytest.raises(AdrenoSimError, match=r"TVM is not installed, which compiles models\. Run: pip install .*\[tvm\]"):
        versions.import_tvm()
    versions.import_tvm.cache_clear()


def _no_tvm(real):
    def guarded(name, *args, **kwargs):
        assert name.partition(".")[0] not in ("tvm", "tvm_ffi"), "TVM was imported"
        return real(name, *args, **kwargs)

    return guarded
