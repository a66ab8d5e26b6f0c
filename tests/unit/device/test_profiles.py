"""Device profiles: the built-in tables, the user's own, and what is said when one is wrong."""

import json

import pytest

from adreno_sim.base.errors import AdrenoSimError
from adreno_sim.profiles import profile as profiles
from adreno_sim.profiles.user_profile import load_profile

DEVICES = [
    "505", "506", "530", "540", "618", "630", "640", "643", "650", "660", "680", "690",
    "730", "740", "750", "830", "840", "x1-85",
]  # fmt: skip


def test_every_device_is_there_and_complete():
    assert profiles.names() == [f"adreno-{number}" for number in DEVICES] + ["reference"]
    for name in profiles.names():
        profile = load_profile(name)
        assert set(profile.values) == set(profile.marks) == set(profiles.FIELDS)
        assert set(profile.marks.values()) <= {"sourced", "inferred"}


@pytest.mark.parametrize("number", DEVICES)
def test_devices_agree_with_the_public_facts(number):
    profile = load_profile(f"adreno-{number}")
    assert profile.flush_denormals
    assert profile["wave_sizes"] == ((64, 32) if number[0] == "5" else (64,) if number[0] == "8" else (128, 64))
    assert "cl_khr_fp16" in profile.extensions
    assert "cl_khr_fp64" not in profile.extensions
    assert profile["MAX_MEM_ALLOC_SIZE"] <= profile["GLOBAL_MEM_SIZE"]
    assert number in profile["device_version"].lower()


def test_values_read_in_dumps():
    dump = load_profile("adreno-650")
    assert (dump["GLOBAL_MEM_SIZE"], dump["MAX_MEM_ALLOC_SIZE"], dump["MAX_COMPUTE_UNITS"]) == (3992293376, 998073344, 3)
    assert dump.marks["IMAGE_PITCH_ALIGNMENT"] == "sourced"
    assert "cl_qcom_ml_ops" in dump.extensions
    assert "cl_qcom_ml_ops" not in load_profile("adreno-640").extensions


def test_a_value_of_the_base_is_inferred_for_a_device_the_base_is_not_a_dump_of():
    assert load_profile("adreno-650").marks["LOCAL_MEM_SIZE"] == "sourced"
    assert load_profile("adreno-540").marks["LOCAL_MEM_SIZE"] == "inferred"
    assert load_profile("adreno-740,driver=E031.42.20.00").marks["extensions"] == "sourced"
    assert load_profile("adreno-740").marks["extensions"] == "inferred"  # the list of the same chip under Linux, and Android's
    assert load_profile("adreno-830").marks["extensions"] == "inferred"


def test_images_over_buffers_differ_by_device():
    kinds = ("image1d_buffer", "image2d", "image2d_array")
    assert [load_profile("adreno-740").images_over_buffers(kind) for kind in kinds] == [True, True, True]
    assert [load_profile("adreno-650").images_over_buffers(kind) for kind in kinds] == [True, True, False]
    assert [load_profile("adreno-630").images_over_buffers(kind) for kind in kinds] == [True, True, False]
    assert [load_profile("adreno-630,driver=mesa").images_over_buffers(kind) for kind in kinds] == [True, False, False]


def test_reference_is_not_an_adreno():
    reference = load_profile("reference")
    assert not reference.flush_denormals
    assert "cl_khr_fp64" in reference.extensions


def test_unknown_profile_names_what_exists():
    with pytest.raises(AdrenoSimError, match=r"adreno-741.*did you mean adreno-74.*reference"):
        load_profile("adreno-741")


def write(tmp_path, text):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    return str(path)


def test_a_users_own_profile(tmp_path):
    mine = load_profile(
        write(tmp_path, '[profile.mine]\nbase = "adreno-740"\n[profile.mine.given]\nLOCAL_MEM_SIZE = 4096\nwave_sizes = [32]\n')
    )
    assert (mine.name, mine["LOCAL_MEM_SIZE"], mine["wave_sizes"]) == ("mine", 4096, (32,))
    assert mine.marks["LOCAL_MEM_SIZE"] == "given"
    assert mine.marks["MAX_COMPUTE_UNITS"] == "inferred"
    assert mine["MAX_COMPUTE_UNITS"] == 6


def test_extensions_are_edited_in_place(tmp_path):
    text = '[profile.mine]\nbase = "adreno-740"\nwithout_extensions = ["cl_khr_fp16"]\nmore_extensions = ["cl_khr_fp64"]\n'
    mine = load_profile(write(tmp_path, text))
    assert "cl_khr_fp16" not in mine.extensions
    assert "cl_khr_fp64" in mine.extensions
    assert "cl_ext_image_from_buffer" in mine.extensions


@pytest.mark.parametrize(
    "text, says",
    [
        ("[profile", "not valid TOML"),
        ("x = 1", "exactly one table"),
        ("[profile.a]\n[profile.b]\n", "exactly one table"),
        ('[profile.mine]\nbase = "adreno-7400"\n', "did you mean"),
        ('[profile.mine]\nbase = ["gen7"]\n', "does not exist"),
        ("[profile.mine]\n", "no value for opencl"),
        ('[profile.adreno-740]\nbase = "gen7"\n', "taken by a built-in"),
        ("[profile.mine]\nLOCAL_MEM_SIZE = 1\n", "belong under"),
        ('[profile.mine]\nbase = "gen7"\ngiven = { LOCAL_MEM = 1 }\n', "did you mean LOCAL_MEM_SIZE"),
        ('[profile.mine]\nbase = "gen7"\ngiven = { LOCAL_MEM_SIZE = "big" }\n', "expected an integer"),
        ('[profile.mine]\nbase = "gen7"\ngiven = { LOCAL_MEM_SIZE = -1 }\n', "expected an integer"),
        ('[profile.mine]\nbase = "gen7"\ngiven = { LOCAL_MEM_SIZE = true }\n', "expected an integer"),
        ('[profile.mine]\nbase = "gen7"\ngiven = 3\n', "expected a table"),
        ('[profile.mine]\nbase = "gen7"\ngiven = { pitch_rule = "rows" }\n', "bytes, pixels, hardware"),
        ('[profile.mine]\nbase = "gen7"\ngiven = { IMAGE_PITCH_ALIGNMENT = 48 }\n', "power of two"),
        ('[profile.mine]\nbase = "gen7"\ngiven = { wave_sizes = [] }\n', "one or more"),
        ('[profile.mine]\nbase = "gen7"\ngiven = { opencl = "4.0" }\n', "expected 1.2"),
        ('[profile.mine]\nbase = "gen7"\ngiven = { MAX_WORK_ITEM_SIZES = [1, 2] }\n', "three sizes"),
    ],
)
def test_a_wrong_file_is_refused_by_name(tmp_path, text, says):
    with pytest.raises(AdrenoSimError, match=says) as refused:
        load_profile(write(tmp_path, text))
    assert "mine" in str(refused.value) or "gen7" in str(refused.value)


@pytest.mark.parametrize("name", ["absent.toml", "absent.json"])
def test_a_missing_file_is_refused(name):
    with pytest.raises(AdrenoSimError, match="cannot be read"):
        load_profile(name)


def test_values_of_a_device_string():
    assert profiles.parse_value("p", "LOCAL_MEM_SIZE", "0x1000") == 4096
    assert profiles.parse_value("p", "wave_sizes", "64+32") == [64, 32]
    assert profiles.parse_value("p", "non_uniform_work_groups", "false") is False
    with pytest.raises(AdrenoSimError, match="expected an integer"):
        profiles.parse_value("p", "LOCAL_MEM_SIZE", "4k")
    with pytest.raises(AdrenoSimError, match="did you mean pitch_rule"):
        profiles.parse_value("p", "pitchrule", "bytes")


CLINFO = {
    "platforms": [{"CL_PLATFORM_NAME": "QUALCOMM Snapdragon(TM)"}],
    "devices": [
        {
            "online": [
                {
                    "CL_DEVICE_NAME": "QUALCOMM Adreno(TM)",
                    "CL_DEVICE_VERSION": "OpenCL 3.0 Adreno(TM) 730",
                    "CL_DEVICE_EXTENSIONS": "cl_khr_fp16 cl_khr_image2d_from_buffer",
                    "CL_DEVICE_MAX_COMPUTE_UNITS": 5,
                    "CL_DEVICE_MAX_WORK_ITEM_SIZES": [512, 512, 64],
                    "CL_DEVICE_SINGLE_FP_CONFIG": {"raw": 6, "config": ["CL_FP_INF_NAN", "CL_FP_DENORM"]},
                }
            ]
        }
    ],
}


def test_a_profile_from_clinfo(tmp_path):
    path = tmp_path / "phone.json"
    path.write_text(json.dumps(CLINFO))
    phone = load_profile(str(path))
    assert (phone.name, phone["opencl"], phone["MAX_COMPUTE_UNITS"]) == ("phone", "3.0", 5)
    assert phone["MAX_WORK_ITEM_SIZES"] == (512, 512, 64)
    assert not phone.flush_denormals
    assert phone.extensions == {"cl_khr_fp16", "cl_khr_image2d_from_buffer"}
    assert phone["GLOBAL_MEM_SIZE"] == load_profile("adreno-730")["GLOBAL_MEM_SIZE"]
    assert phone.marks["MAX_COMPUTE_UNITS"] == "given"
    assert phone.marks["GLOBAL_MEM_SIZE"] == "inferred"


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"devices": []}', '{"devices": [{"online": [{}]}]}'])
def test_what_is_no_clinfo_dump_is_refused(tmp_path, text):
    path = tmp_path / "phone.json"
    path.write_text(text)
    with pytest.raises(AdrenoSimError, match="clinfo dump"):
        load_profile(str(path))


def test_a_wrong_value_in_a_clinfo_dump_is_refused_with_the_file(tmp_path):
    path = tmp_path / "phone.json"
    path.write_text(json.dumps(CLINFO).replace('"CL_DEVICE_MAX_COMPUTE_UNITS": 5', '"CL_DEVICE_MAX_COMPUTE_UNITS": "five"'))
    with pytest.raises(AdrenoSimError, match=r"phone\.json: MAX_COMPUTE_UNITS = 'five': expected an integer"):
        load_profile(str(path))


def test_flags_that_are_no_list_are_refused_with_the_file(tmp_path):
    path = tmp_path / "phone.json"
    path.write_text(json.dumps(CLINFO).replace('["CL_FP_INF_NAN", "CL_FP_DENORM"]', "3"))
    with pytest.raises(AdrenoSimError, match=r"phone\.json: CL_DEVICE_SINGLE_FP_CONFIG: expected a list of flags, got 3"):
        load_profile(str(path))


def test_the_wave_of_an_unknown_device_is_its_kernels_multiple(tmp_path):
    path = tmp_path / "other.json"
    device = {"CL_DEVICE_NAME": "X", "CL_DEVICE_VERSION": "OpenCL 3.0 X", "CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE": 32}
    path.write_text(json.dumps({"devices": [{"online": [device]}]}))
    other = load_profile(str(path))
    assert other["wave_sizes"] == (32,)
    assert other.marks["wave_sizes"] == "inferred"


@pytest.mark.parametrize(("given", "largest"), [(0, 1024), (256, 256), (4096, 1024)])
def test_the_limit_of_a_kernel_is_what_is_given_and_no_more_than_the_devices(given, largest):
    assert load_profile("adreno-740").with_values({"kernel_group_limit": given}).largest_group == largest
