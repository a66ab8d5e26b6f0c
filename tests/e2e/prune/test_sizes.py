"""The sizes in the README: an installation for kernels alone is downloaded, installed, pruned and measured. It needs an index."""

import importlib.util
import re
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SUITE = ROOT / "ci" / "bench" / "suites" / "suite_install.py"
CLAIM = re.compile(
    r"kernels and OpenCL programs only: (\d+) MB to download, ([\d.]+) GB installed \(([\d.]+) after adreno-sim prune"
)

pytestmark = pytest.mark.e2e


@pytest.fixture
def suite():
    spec = importlib.util.spec_from_file_location("suite_install", SUITE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.skipif(sysconfig.get_platform() != "linux-x86_64", reason="the sizes are of wheels for Linux on x86-64")
def test_the_sizes_in_the_readme_are_true(suite, tmp_path):
    download, installed, pruned = map(float, CLAIM.search((ROOT / "README.md").read_text()).groups())
    sizes = suite.measure_installation(tmp_path, print)
    assert sizes["download"]["all"] == pytest.approx(1e6 * download, rel=0.05)
    assert sizes["installed"]["all"] == pytest.approx(1e9 * installed, rel=0.05)
    assert sizes["pruned"]["all"] == pytest.approx(1e9 * pruned, rel=0.05)


def test_what_a_package_brought_is_counted_as_its(suite, tmp_path):
    for name in ("zig_lang", "zig_lang.libs", "zig_lang-1.dist-info", "pip", "stray"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_bytes(b"x" * 5000)
    (tmp_path / "alone.py").write_bytes(b"x" * 5000)
    info = tmp_path / "zig_lang-1.dist-info"
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: Zig-Lang\nVersion: 1\n")
    (info / "RECORD").write_text("zig_lang/file,,\nzig_lang.libs/file,,\nzig_lang-1.dist-info/RECORD,,\nalone.py,,\n")
    sizes = suite.measure_packages(tmp_path, {"pip"})
    assert list(sizes) == ["zig_lang", "stray"]
    assert sizes["zig_lang"] > 3 * sizes["stray"] > 15000


def test_a_failed_installation_is_told(suite):
    with pytest.raises(RuntimeError, match=r"false: $"):
        suite.call("false")
