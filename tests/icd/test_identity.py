"""What the driver says of itself, against the numbers of an independent header (pyopencl's constants)."""

from __future__ import annotations

import struct

import pytest

from adreno_sim.icd import identity
from adreno_sim.icd.status import CODES
from adreno_sim.image.formats import ORDERS, combined_with
from adreno_sim.profiles import profile

cl = pytest.importorskip("pyopencl")

HANDLES = {"PLATFORM", "PARENT_DEVICE", "REFERENCE_COUNT"}


def text(answer: bytes) -> str:
    assert answer.endswith(b"\0")
    return answer[:-1].decode()


@pytest.mark.parametrize("name", profile.names())
def test_every_query_of_the_version_is_answered(name) -> None:
    made = profile.load(name)
    answers = identity.device_answers(made)
    numbers = {key: value for key, value in vars(cl.device_info).items() if isinstance(value, int) and 0x1000 <= value <= 0x1071}
    last = 0x1071 if made["opencl"] >= "3.0" else 0x105D
    missing = {key for key, value in numbers.items() if value <= last and value not in answers} - HANDLES
    assert not missing
    assert text(answers[0x102B]) == made["device_name"]
    assert text(answers[0x102F]) == made["device_version"]
    assert text(answers[0x103D]).startswith(f"OpenCL C {made['opencl']}")
    assert struct.unpack("<3Q", answers[0x1005]) == tuple(made["MAX_WORK_ITEM_SIZES"])
    assert set(text(answers[0x1030]).split()) <= made.extensions
    assert 0x905 not in answers
    assert set(identity.platform_answers(made)) >= {0x900, 0x901, 0x902, 0x903, 0x904, 0x920}


def test_a_740_names_itself_as_programs_look_for_it() -> None:
    answers = identity.device_answers(profile.load("adreno-740"))
    assert text(answers[cl.device_info.VERSION]) == "OpenCL 3.0 Adreno(TM) 740"
    assert "Compiler E031.41" in text(answers[cl.device_info.DRIVER_VERSION])
    assert struct.unpack("<Q", answers[cl.device_info.HALF_FP_CONFIG])[0] == 0x16
    assert struct.unpack("<Q", answers[cl.device_info.DOUBLE_FP_CONFIG])[0] == 0
    assert struct.unpack("<I", answers[cl.device_info.NUMERIC_VERSION])[0] == 3 << 22
    assert len(answers[cl.device_info.OPENCL_C_ALL_VERSIONS]) == 5 * 68
    assert "cl_khr_fp64" not in text(answers[cl.device_info.EXTENSIONS])
    assert "cl_qcom_ml_ops" not in text(answers[cl.device_info.EXTENSIONS]), "its functions are not in this driver"


def test_the_driver_version_can_be_given() -> None:
    made = profile.load("adreno-740").with_values({"driver_version": "X E031.99.01.02"})
    assert text(identity.device_answers(made)[cl.device_info.DRIVER_VERSION]) == "X E031.99.01.02"


def test_numbers_are_those_of_the_header() -> None:
    for table, known in ((identity.CHANNEL_ORDER, cl.channel_order), (identity.CHANNEL_TYPE, cl.channel_type)):
        for name, number in table.items():
            assert getattr(known, name, number) == number, name
    codes = {f"CL_{name}": value for name, value in vars(cl.status_code).items() if isinstance(value, int) and value < 0}
    for name, number in CODES.items():
        assert codes.get(name, number) == number, name
    assert len(identity.image_formats()) == sum(len(combined_with(order)) for order in ORDERS)
