"""`adreno-sim devices` and `adreno-sim layout`: what they print, their JSON against its schema, and bad input."""

from __future__ import annotations

import json
import xml.etree.ElementTree
from pathlib import Path

import pytest
from validators import validator

from adreno_sim.base.specs import ImageSpec
from adreno_sim.cli.main import main
from adreno_sim.image import layout_of
from adreno_sim.profiles import profile as profiles


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(list(words))
    done = capsys.readouterr()
    return code, done.out, done.err


def valid(text: str, name: str) -> dict:
    data = json.loads(text)
    validator(name).validate(data)
    return data


@pytest.mark.parametrize("name", profiles.names())
def test_every_value_of_a_profile_is_shown_with_its_mark(capsys, name):
    code, out, _ = run(capsys, "devices", "--profile", name)
    profile = profiles.load(name)
    rows = {line.split()[0]: line.split()[1] for line in out.splitlines()[1:] if line.startswith("  ") and line[2] != " "}
    assert code == 0
    assert {key: rows[key] for key in profiles.FIELDS} == dict(profile.marks)
    data = valid(run(capsys, "devices", "--profile", name, "--json", "-")[1], "profile")
    shown = {key: (item["value"], item["mark"]) for key, item in data["values"].items()}
    assert shown == {k: (list(v) if isinstance(v, tuple) else v, profile.marks[k]) for k, v in profile.values.items()}


def test_a_users_profile_and_a_device_string(capsys, tmp_path: Path):
    mine = tmp_path / "mine.toml"
    mine.write_text('[profile.mine]\nbase = "adreno-740"\ngiven = { LOCAL_MEM_SIZE = 4096 }\n')
    code, out, _ = run(capsys, "devices", "--profile", str(mine), "--json", str(tmp_path / "mine.json"))
    assert code == 0
    assert "  LOCAL_MEM_SIZE                given     4096" in out
    assert valid((tmp_path / "mine.json").read_text(), "profile")["values"]["LOCAL_MEM_SIZE"] == {
        "value": 4096, "mark": "given", "origin": "given in mine",
    }  # fmt: skip
    _, out, _ = run(capsys, "devices", "--profile", "sim:adreno-650,pitch_rule=pixels")
    assert "  pitch_rule                    given     pixels" in out


def test_the_list_as_json(capsys):
    data = valid(run(capsys, "devices", "--json", "-")[1], "devices")
    assert [item["device"] for item in data["simulated"]] == [f"sim:{name}" for name in profiles.names()]
    assert [item["device"] for item in data["phones"]] == [f"sim:{name}" for name in profiles.phones()]
    assert bool(data["real"]) != bool(data["no_opencl"])


def test_the_layout_of_an_image(capsys, tmp_path: Path):
    picture = tmp_path / "layout.svg"
    words = ("image2d_array", "28x40x9", "--type", "HALF_FLOAT", "--at", "27,39,8", "--at", "0,0,0", "--byte", "4096")
    code, out, _ = run(capsys, "layout", *words, "--byte", "230", "--svg", str(picture))
    assert code == 0
    assert "* hardware  row pitch 512 B, slice pitch 20480 B, 184320 B with 103680 B (56.2 %) padding" in out
    assert out.splitlines()[-4:] == [
        "texel (27, 39, 8): byte 184024", "texel (0, 0, 0): byte 0", "byte 4096: texel (0, 8, 0)",
        "byte 230: padding",
    ]  # fmt: skip
    code, out, _ = run(capsys, "layout", *words, "--over-buffer")
    assert code == 0
    assert "* bytes     row pitch 256 B, slice pitch 10240 B, 92160 B with 11520 B (12.5 %) padding" in out
    code, out, _ = run(capsys, "layout", "image2d", "28x4", "--row-pitch", "448")
    assert code == 0
    assert "* bytes     row pitch 448 B" in out
    assert "row_pitch 448: expected a multiple of 1024 bytes" in out
    data = valid(run(capsys, "layout", "image2d", "28x4", "--row-pitch", "448", "--json", "-")[1], "layout")
    assert data["over_buffer"]
    assert list(data["refusing"]) == ["pixels"]
    xml.etree.ElementTree.parse(picture)
    data = valid(run(capsys, "layout", *words, "--rule", "hardware", "--json", "-")[1], "layout")
    spec = ImageSpec("image2d_array", 28, 40, 9, "RGBA", "HALF_FLOAT")
    expected = layout_of(spec, profiles.load("adreno-740"), "hardware")
    assert data["rule"] == "hardware"
    assert data["layouts"]["hardware"]["slice_pitch"] == expected.slice_pitch
    assert data["texels"][0]["byte"] == 8 * expected.slice_pitch + 39 * expected.row_pitch + 27 * 8
    assert not data["refused"]
    assert "makes no such image: CL_INVALID_IMAGE_SIZE" in run(capsys, "layout", "image2d", "20000x4")[1]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("devices --profile adreno-741", "did you mean adreno-74"),
        ("devices --profile cl:0", "does not exist"),
        ("devices --profile FOLDER.toml", "cannot be read"),
        ("devices --profile GARBAGE.toml", "cannot be read"),
        ("devices --profile GARBAGE.json", "cannot be read"),
        ("devices --profile ENDLESS.toml", "more than 16777216 bytes"),
        ("devices --profile NESTED.json", "cannot be read"),
        ("devices --json /absent/x.json", "cannot write"),
        ("layout image2d 10x", "expected 2 whole numbers: WIDTHxHEIGHT"),
        ("layout image2d 0x4", "expected at least 1"),
        ("layout image2d 999999999999999999x999999999999999999", "expected at most"),
        ("layout image9 4", "invalid choice"),
        ("layout image2d 4x4 --order XX", "CL_IMAGE_FORMAT_NOT_SUPPORTED"),
        ("layout image2d 4x4 --order BGRA", "CL_INVALID_IMAGE_FORMAT_DESCRIPTOR"),
        ("layout image2d 4x4 --row-pitch 3", "multiple of 16"),
        ("layout image2d 4x4 --at 1", "expected 2 whole numbers: X,Y"),
        ("layout image2d 4x4 --byte 99999999999999999999999", "expected a coordinate or offset"),
        ("layout image2d 4x4 --svg FOLDER.toml", "is a folder"),
    ],
)
def test_bad_input_is_one_line(capsys, tmp_path: Path, words, says):
    (tmp_path / "FOLDER.toml").mkdir()
    (tmp_path / "ENDLESS.toml").symlink_to("/dev/zero")
    (tmp_path / "NESTED.json").write_text("[" * 100_000)
    for name in ("GARBAGE.toml", "GARBAGE.json"):
        (tmp_path / name).write_bytes(bytes(range(256)))
    parts = [
        str(tmp_path / word) if word.startswith(("FOLDER", "GARBAGE", "ENDLESS", "NESTED")) else word for word in words.split()
    ]
    code, out, err = run(capsys, *parts)
    assert code == 2
    assert out == ""
    assert says in err
    assert err.startswith("error: ")
    assert err.count("\n") == 1
