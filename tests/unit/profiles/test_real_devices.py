"""Values of profiles against what public dumps and logs say; profiles of drivers and phones; what clinfo prints as a profile."""

from __future__ import annotations

from pathlib import Path

import pytest

from adreno_sim import open_device
from adreno_sim.base.errors import AdrenoSimError, DeviceError
from adreno_sim.profiles import builtin, profile, tables_page
from adreno_sim.profiles.profile import load
from adreno_sim.profiles.user_profile import load_profile, tomllib

FACTS = tomllib.loads(Path(__file__).with_name("real_devices.toml").read_text(encoding="utf-8"))
ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("name", FACTS)
def test_a_profile_says_what_dumps_of_the_device_say(name: str) -> None:
    facts, made = FACTS[name], load(name)
    assert any(f"Compiler {version}" in made["driver_version"] for version in facts.get("compiler", [""]))
    assert set(facts.get("has", ())) <= made.extensions
    assert not set(facts.get("lacks", ())) & made.extensions
    assert made["device_name"] == facts.get("device_name", made["device_name"])
    if "svm" in facts:
        assert bool(made["SVM_CAPABILITIES"]) == facts["svm"]
    for key in filter(str.isupper, facts):
        low, high = made.seen.get(key, (made[key], made[key]))
        assert made[key] == low, f"{key}: {made.origins[key]}"
        assert low <= facts[key] <= high, f"{key}: {made.origins[key]}"


def test_every_value_has_an_origin() -> None:
    for name in (*profile.names(), *profile.phones()):
        made = load(name)
        assert set(made.origins) == set(profile.FIELDS), name
        assert all(made.origins.values()), name
        for key, mark in made.marks.items():
            assert mark in ("sourced", "inferred")
            assert mark == "inferred" or made.origins[key].startswith("https://") or name == "reference", (name, key)


def test_a_chip_has_the_smallest_that_its_phones_have_and_says_so() -> None:
    chip, phone = load("adreno-740"), load("galaxy-s23")
    assert chip["MAX_MEM_ALLOC_SIZE"] == 256 << 20
    assert chip.seen["MAX_MEM_ALLOC_SIZE"] == (256 << 20, 1 << 30)
    assert phone["MAX_MEM_ALLOC_SIZE"] == 884 << 20
    assert not phone.seen
    assert phone["device_version"] == chip["device_version"]
    with pytest.raises(DeviceError, match=r"= 268435456, the smallest seen: phones have up to 1,073,741,824"):
        open_device("sim:adreno-740").allocate(300 << 20)
    with pytest.raises(DeviceError, match=r"= 926941184$"):
        open_device("sim:galaxy-s23").allocate(900 << 20)
    given = chip.with_values({"MAX_MEM_ALLOC_SIZE": 1 << 29})
    assert not given.range_text("MAX_MEM_ALLOC_SIZE")
    assert given.origins["MAX_MEM_ALLOC_SIZE"] == "given"


@pytest.mark.parametrize("name", profile.names())
def test_every_driver_of_a_chip_makes_a_profile(name: str) -> None:
    for driver in builtin.drivers_of(name):
        made = load(f"{name},driver={driver}")
        assert made.name == f"{name},driver={driver}"
        assert set(made.values) == set(profile.FIELDS)
    assert load(f"{name},driver={builtin.drivers_of(name)[0]}").values == load(name).values


def test_drivers_are_found_by_how_their_version_begins() -> None:
    assert load("adreno-740,driver=E031.41.03").compiler_version == "E031.41.03.62"
    newer = load("adreno-740,driver=E031.41.03.70")
    assert newer.compiler_version == "E031.41.03.70"
    assert newer.marks["driver_version"] == "given"
    assert newer.extensions == load("adreno-740").extensions
    assert open_device("sim:adreno-740,driver=E031.42,wave_size=64").info.profile["device_name"] == "QUALCOMM Adreno(TM) 740"
    for wrong in ("E031.99", "mesa", "E031.41.03.x!"):
        with pytest.raises(AdrenoSimError, match=r"no such driver is known there.*E031\.41\.03\.62"):
            load(f"adreno-740,driver={wrong}")


def test_mesa_is_another_driver_of_the_same_chip() -> None:
    mesa, own = load("adreno-630,driver=mesa"), load("adreno-630")
    assert (mesa["device_name"], mesa["platform_name"], mesa["opencl"]) == ("FD630", "rusticl", "3.0")
    assert (own["opencl"], own["IMAGE_PITCH_ALIGNMENT"], mesa["IMAGE_PITCH_ALIGNMENT"]) == ("2.0", 64, 0)


CLINFO = """\
  Platform Name                                   QUALCOMM Snapdragon(TM)
  Platform Version                                OpenCL 3.0 QUALCOMM build: commit unknown
Number of devices                                 1
> Device Name                                     QUALCOMM Adreno(TM) 750
  Device Vendor ID                                0x5143
  Device Version                                  OpenCL 3.0 Adreno(TM) 750
  Driver Version                                  OpenCL 3.0 QUALCOMM build: commit unknown Compiler E031.45.02.99
  Max work item sizes                             512x512x64
  Preferred / native vector sizes                 \n\
    char                                                 1 / 1       \n\
    long                                                 1 / 0       \n\
    half                                                 2 / 1        (cl_khr_fp16)
  Half-precision Floating-point support           (cl_khr_fp16)
    Denormals                                     No
    Infinity and NANs                             Yes
    Round to nearest                              Yes
  Double-precision Floating-point support         (n/a)
  Global memory size                              5810159616 (5.411GiB)
  Shared Virtual Memory (SVM) capabilities        (core)
    Coarse-grained buffer sharing                 Yes
    Atomics                                       No
  Preferred alignment for atomics                 \n\
    SVM                                           128 bytes
    Global                                        0 bytes
  Pitch alignment for 2D image buffers            64 pixels
  Max 2D image size                               8192x4096 pixels
  Device Extensions                               cl_khr_fp16 cl_khr_im
age2d_from_buffer cl_qcom_new_one
  Local memory size                               32768 (32KiB)

  Device Name                                     another
"""


def test_what_clinfo_prints_is_a_profile(tmp_path: Path) -> None:
    (tmp_path / "phone.txt").write_text(CLINFO)
    made = load_profile(str(tmp_path / "phone.txt"))
    assert (made.name, made["device_name"], made.compiler_version) == ("phone", "QUALCOMM Adreno(TM) 750", "E031.45.02.99")
    assert (made["GLOBAL_MEM_SIZE"], made["IMAGE2D_MAX_HEIGHT"], made["MAX_WORK_ITEM_SIZES"]) == (
        5810159616,
        4096,
        (512, 512, 64),
    )
    assert made["HALF_FP_CONFIG"] == ("INF_NAN", "ROUND_TO_NEAREST")
    assert made["DOUBLE_FP_CONFIG"] == ()
    assert made["SVM_CAPABILITIES"] == ("COARSE_GRAIN_BUFFER",)
    assert made["PREFERRED_VECTOR_WIDTH_HALF"] == 2
    assert made.extensions == {"cl_khr_fp16", "cl_khr_image2d_from_buffer", "cl_qcom_new_one"}
    assert made.marks["GLOBAL_MEM_SIZE"] == "given"
    assert made.marks["MAX_SAMPLERS"] == "inferred"
    assert open_device(f"sim:{tmp_path / 'phone.txt'}").info.version == "OpenCL 3.0 Adreno(TM) 750"


@pytest.mark.parametrize("text", ["", "hello", "  Device Name      X\n", "  Device Name      X\n  Device Version     1.2\n"])
def test_a_text_that_is_no_dump_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "phone.txt").write_text(text)
    with pytest.raises(AdrenoSimError, match=r"^clinfo dump .*phone\.txt: "):
        load_profile(str(tmp_path / "phone.txt"))


def test_the_page_of_evidence_is_up_to_date() -> None:
    page = (ROOT / "docs" / "devices-evidence.md").read_text(encoding="utf-8")
    assert page == tables_page.make_page(), "write it with: python -m adreno_sim.profiles"
