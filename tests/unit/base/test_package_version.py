"""The version of a package, from the folder that pip leaves beside it, and from its metadata where that says nothing."""

from importlib import metadata

import ziglang

from adreno_sim.base.installed.package_version import find_version


def test_the_folder_beside_a_package_says_its_version(tmp_path):
    (tmp_path / "some_package").mkdir()
    (tmp_path / "some_package-1.2.3.dist-info").mkdir()
    assert find_version(str(tmp_path / "some_package"), "some_package") == "1.2.3"


def test_what_several_folders_say_is_left_to_the_metadata(tmp_path):
    for version in ("1.0", "2.0"):
        (tmp_path / f"ziglang-{version}.dist-info").mkdir()
    assert find_version(str(tmp_path / "ziglang"), "ziglang") == metadata.version("ziglang")


def test_a_real_package_has_the_version_of_its_metadata():
    assert find_version(ziglang.__path__[0], "ziglang") == metadata.version("ziglang")
