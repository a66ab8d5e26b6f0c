"""`adreno-sim doctor`: which defects the installed TVM has, told from what its kernels compute."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from validators import validator

from adreno_sim.cli.main import main
from adreno_sim.cli.streams import hide_library_warnings
from adreno_sim.compiler.doctor import defects, upstream
from adreno_sim.compiler.doctor.examine import examine
from adreno_sim.compiler.passes.registry import FIXES
from adreno_sim.compiler.tvm_bridge.versions import SUPPORTED, tvm_series

pytestmark = pytest.mark.tvm


def doctor(tmp_path: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    file = tmp_path / "doctor.json"
    code = main(["doctor", "--json", str(file), *arguments])
    found = json.loads(file.read_text())
    validator("doctor").validate(found)
    return code, found


def test_a_defect_told_apart_by_version(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """texture-store came with 0.26; the plan is inflated in every version."""
    code, found = doctor(tmp_path, "--only", "texture-store,plan-coefficient")
    assert code == 0
    assert found["ok"]
    assert found["series"] == tvm_series()
    store, plan = found["defects"]
    assert store["present"] == (tvm_series() != "0.25")
    assert store["mended"]
    assert store["stock"] == store["alone"] == ("wrong-value in te_layout_transform_kernel" if store["present"] else "ok")
    assert plan["present"]
    assert plan["fixed"] == "ok"
    assert "bytes planned where" in plan["stock"]
    said = capsys.readouterr().out
    assert f"TVM {found['tvm']}" in said
    assert "of 2 known defects in this TVM" in said


def test_the_three_series_differ() -> None:
    names = {defect.name for defect in defects.DEFECTS}
    assert set(defects.ABSENT) == set(SUPPORTED)
    assert len(set(defects.ABSENT.values())) == len(SUPPORTED)
    assert all(missing <= names for missing in defects.ABSENT.values())


@pytest.mark.representative
def test_average_pooling_by_version(tmp_path: Path) -> None:
    """0.25 and 0.26 do not compile it; 0.27 does, and stores a channel four times with its own passes alone."""
    code, found = doctor(tmp_path, "--only", "average-pooling")
    (pooling,) = found["defects"]
    assert code == 0
    assert pooling["fixed"] == "ok"
    assert found["resembles"] == []
    assert pooling["present"] == (tvm_series() != "0.27")
    assert pooling["stock"].startswith("wrong-value" if tvm_series() == "0.27" else "does not compile")


def test_what_no_series_compiles(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A texture that a function allocates, which a buffer in its place shows to be the reason; and ONNX's Sum. What TVM writes to
    standard error when a compilation fails as it should is not for the reader."""
    from adreno_sim.compiler.doctor import own_texture

    code, found = doctor(tmp_path, "--only", "own-texture,stacked-sum")
    assert code == 0
    assert all(item["present"] and item["mended"] for item in found["defects"])
    assert all(item["stock"].startswith("does not compile (") for item in found["defects"])
    assert "Warning:" not in capfd.readouterr().err
    assert own_texture.lowered_by_tvm(own_texture.make_scheduled("global")) == "ok"


def test_a_report_reproduces_with_tvm_alone(tmp_path: Path) -> None:
    folder = tmp_path / "reports"
    code, _ = doctor(tmp_path, "--only", "constant-rank,pipeline-tuple,average-pooling", "--report", str(folder))
    assert code == 0
    assert (folder / "constant-rank.md").is_file()
    assert (folder / "pipeline-tuple.md").is_file()
    assert (folder / "average-pooling.md").exists() == (tvm_series() != "0.27")
    text = (folder / "constant-rank.md").read_text()
    for part in ("## Reproduce", "## Expected", "## Got", "## Cause", "## Proposed patch", "apache-tvm "):
        assert part in text
    script = tmp_path / "script.py"
    script.write_text(text.partition("```python\n")[2].partition("```")[0])
    assert "adreno_sim" not in script.read_text()
    done = subprocess.run([sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "Cannot broadcast from 5 to 4" in done.stderr


@pytest.mark.representative
def test_every_defect_has_a_script_a_cause_and_a_patch() -> None:
    for defect in defects.DEFECTS:
        text = upstream.script(defect, with_source=True)
        compile(text, defect.name, "exec")
        assert "adreno_sim" not in text
        assert upstream.cause(defect)
        assert upstream.PATCHES[defect.name]


@pytest.mark.skipif(tvm_series() != "0.27", reason="TVM 0.27 prints a symbolic size as a type parameter")
def test_a_script_with_a_symbolic_size_reaches_its_defect(tmp_path: Path) -> None:
    """How TVM prints the size, and what the script must import for it, depends on the Python."""
    defect = next(defect for defect in defects.DEFECTS if defect.name == "parameter-types")
    script = tmp_path / "script.py"
    script.write_text(upstream.script(defect, with_source=False))
    done = subprocess.run([sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert "signature of target buffer" in done.stderr, done.stderr


def test_a_folder_of_reports_that_cannot_be_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert main(["doctor", "--only", "texture-store", "--report", str(tmp_path / "file")]) == 2
    assert "expected a folder to write to" in capsys.readouterr().err


def test_warnings_of_a_library_are_shown_where_the_work_fails(capfd: pytest.CaptureFixture[str]) -> None:
    with hide_library_warnings() as shown:
        os.write(2, b"hidden\n")
        shown.write("progress\n")
    with pytest.raises(ValueError), hide_library_warnings():
        os.write(2, b"what failed\n")
        raise ValueError
    os.write(2, b"behind\n")
    assert capfd.readouterr().err == "progress\nwhat failed\nbehind\n"


def test_strict_counts_a_fixed_defect(tmp_path: Path) -> None:
    code, found = doctor(tmp_path, "--strict", "--only", "pipeline-tuple")
    assert code == 1
    assert found["ok"]
    assert found["defects"][0]["present"]


def test_an_unknown_defect_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--only", "texture-stores"]) == 2
    assert "defect 'texture-stores': expected one of pipeline-tuple, texture-store" in capsys.readouterr().err


def test_an_unfixed_defect_fails(adreno: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = defects.Defect("wrong", "", "texture-store", "texture", lambda _device, _pipeline, _without: "wrong-value in k")
    monkeypatch.setattr("adreno_sim.compiler.doctor.examine.DEFECTS", (wrong,))
    found = examine(adreno)
    assert not found.ok
    assert not found.defects[0].is_fixed


def test_every_fix_of_a_defect_is_known_to_the_doctor() -> None:
    named = {name for defect in defects.DEFECTS for name in defects.fixes_of(defect)}
    assert named == {fix.name for fix in FIXES} - {"elementwise-texels"}  # which fixes no defect: it keeps more in textures


@pytest.mark.slow
@pytest.mark.skipif(tvm_series() != "0.27", reason="TVM 0.27 has these kernels")
def test_attention_kernels_do_not_compile_without_their_fixes(tmp_path: Path) -> None:
    code, found = doctor(tmp_path, "--only", "texture-flatten,vector-store-address")
    assert code == 0
    assert all(item["present"] and item["mended"] for item in found["defects"])
    assert all(item["stock"].startswith("does not compile (") for item in found["defects"])


@pytest.mark.slow
@pytest.mark.skipif(tvm_series() != "0.27", reason="TVM 0.27 has these kernels")
def test_kernels_of_language_models_race_and_read_out_of_bounds_without_their_fixes(tmp_path: Path) -> None:
    code, found = doctor(tmp_path, "--only", "condition-range,neighbour-read,group-update")
    assert code == 0
    assert all(item["present"] and item["mended"] for item in found["defects"])
    said = {item["name"]: item["alone"].partition(" in ")[0] for item in found["defects"]}
    assert said == {"condition-range": "out-of-bounds-read", "neighbour-read": "data-race", "group-update": "data-race"}
    assert all(item["stock"] == item["alone"] for item in found["defects"])


@pytest.mark.skipif(tvm_series() != "0.27", reason="mended in TVM 0.27")
@pytest.mark.share(3)
@pytest.mark.parametrize(
    ("name", "said"),
    [("state-objects", "in pass ConvertLayout"), ("parameter-types", "in pass SpecializePrimFuncBasedOnCallSite"),
     pytest.param("kernel-locals", "in storage scope 'local'", marks=pytest.mark.slow),
     pytest.param("sort-scan", "relax.topk, which TVM's pipeline leaves", marks=pytest.mark.slow),
     pytest.param("sampling", "relax.multinomial_from_uniform, which TVM's pipeline leaves", marks=pytest.mark.slow)],
)  # fmt: skip
def test_operators_with_a_dispatch_do_not_compile_without_their_fixes(name: str, said: str, tmp_path: Path) -> None:
    code, found = doctor(tmp_path, "--only", name)
    (item,) = found["defects"]
    assert code == 0
    assert item["present"]
    assert item["mended"]
    assert said in item["alone"]


@pytest.mark.slow
def test_everything_is_fixed(adreno: Any) -> None:
    found = examine(adreno)
    assert found.ok, found.defects
    assert {item.name for item in found.defects} - {item.name for item in found.present} == defects.ABSENT[tvm_series()]
    assert found.resembles == (tvm_series(),)
