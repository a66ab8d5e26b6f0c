"""Installing with uv asks the indexes that pip's settings name, and pip installs where they cannot be passed on."""

import runpy
from pathlib import Path

import pytest

translate = runpy.run_path(str(Path(__file__).parents[3] / "ci" / "uv_options.py"))["translate"]


def test_settings_of_pip_become_options_of_uv(tmp_path):
    wheels, caps = tmp_path / "wheels", tmp_path / "caps.txt"
    wheels.mkdir()
    caps.write_text("torch<=2.14.1\n")
    listed = "\n".join(
        [
            "global.index-url='https://mirror.example/simple'",
            f"install.find-links='{wheels} {tmp_path / 'absent'}'",
            f"global.extra-index-url='{wheels.as_uri()}'",
            f":env:.constraint='{caps}'",
            f":env:.find-links='{wheels}'",
            "global.timeout='60'",
        ]
    )
    assert translate(listed) == [
        "--index-strategy=unsafe-best-match",
        "--default-index=https://mirror.example/simple",
        f"--find-links={wheels}",
        f"--index={wheels.as_uri()}",
        f"--constraints={caps}",
    ]


def test_without_settings_uv_takes_its_own_index():
    assert translate("") == ["--index-strategy=unsafe-best-match"]


@pytest.mark.parametrize("setting", ["global.proxy='http://proxy.example'", "install.no-index='true'", "global.user='true'"])
def test_pip_installs_where_a_setting_has_no_option(setting):
    assert translate(f"global.timeout='60'\n{setting}\n") is None
