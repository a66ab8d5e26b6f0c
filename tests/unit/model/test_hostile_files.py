"""Bundles and arrays that declare more than they hold, or hold more than they declare: refused before memory is taken."""

import io
import json
import zipfile
import zlib

import handmade
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adreno_sim.base import archive, array_files
from adreno_sim.base.array_files import load_npy, open_npz, read_header
from adreno_sim.base.errors import AdrenoSimError
from adreno_sim.compiler.artifact import model as artifact
from adreno_sim.compiler.artifact.model import CompiledModel
from adreno_sim.compiler.importers.inputs import make_inputs
from adreno_sim.compiler.importers.model import Model, ModelInput


def npy(shape, dtype="<f4", data=b"", fortran=False) -> bytes:
    text = repr({"descr": dtype, "fortran_order": fortran, "shape": shape}).encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


def npz(**members: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in members.items():
            made.writestr(f"{name}.npy", data)
    return packed.getvalue()


def rewritten(path, **members: bytes):
    """The bundle of a handmade model with members replaced, deflated, and the digests that fit them."""
    handmade.branch().save(path)
    with zipfile.ZipFile(path) as made:
        found = {name: made.read(name) for name in made.namelist() if name != "digests.json"}
    found |= {name.replace("__", "/"): data for name, data in members.items()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in {**found, "digests.json": artifact._digests(found)}.items():
            made.writestr(name, data)


@pytest.fixture
def memory(monkeypatch):
    """Bytes that the reader took for arrays; and small bounds."""
    taken: list[int] = []
    monkeypatch.setattr(archive, "FLOOR", 1 << 20)
    monkeypatch.setattr(array_files, "_fill", lambda header, pieces: taken.append(header.nbytes) or pytest.fail("read"))
    return taken


def test_members_that_declare_far_more_than_the_file_has_are_not_read(tmp_path, memory, monkeypatch):
    monkeypatch.setattr(artifact, "read_member", lambda *_: pytest.fail("read"))
    path = tmp_path / "bomb.asim"
    rewritten(path, **{"constants.npz": bytes(50_000_000)})
    assert path.stat().st_size < 100_000
    with pytest.raises(AdrenoSimError, match=r"bomb\.asim: .* its members: 50,\d+,\d+ bytes in a file of .*: expected at most"):
        CompiledModel.load(path)
    assert not memory


@pytest.mark.parametrize("member", ["constants.npz", "golden.npz"])
def test_arrays_packed_twice_are_seen_from_outside(tmp_path, memory, member):
    path = tmp_path / "bomb.asim"
    rewritten(path, **{member: npz(k=npy((5_000_000,), data=bytes(20_000_000)), x=npy((5_000_000,), data=bytes(20_000_000)))})
    assert path.stat().st_size < 50_000
    with pytest.raises(AdrenoSimError, match=rf"arrays in {member}: 40,000,000 bytes in a file of"):
        CompiledModel.load(path)
    assert not memory


def test_a_text_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(artifact, "TEXT_LIMIT", 10_000)
    handmade.branch().save(tmp_path / "good.asim")
    assert CompiledModel.load(tmp_path / "good.asim") == handmade.branch()
    rewritten(tmp_path / "m.asim", kernels__add_one=b" " * 20_000)
    with pytest.raises(AdrenoSimError, match="kernels/add_one: 20,000 bytes: expected at most 10,000 of text"):
        CompiledModel.load(tmp_path / "m.asim")


def lie_about_size(path, member: str, size: int) -> None:
    """Change the size that a member declares, in both places of the archive."""
    with zipfile.ZipFile(path) as made:
        info = made.getinfo(member)
        offset, start = info.header_offset, made.start_dir
    data = bytearray(path.read_bytes())
    entry = data.index(b"PK\x01\x02", start)
    while data[entry + 46 : entry + 46 + len(member)] != member.encode():
        entry = data.index(b"PK\x01\x02", entry + 4)
    data[offset + 22 : offset + 26] = data[entry + 24 : entry + 28] = size.to_bytes(4, "little")
    path.write_bytes(data)


@pytest.mark.parametrize("size", [10, 1_000_000])
def test_a_member_of_another_size_than_it_declares_is_damaged(tmp_path, size):
    path = tmp_path / "m.asim"
    rewritten(path, extra=bytes(500_000))
    lie_about_size(path, "extra", size)
    with pytest.raises(AdrenoSimError, match=r"m\.asim: not an adreno-sim bundle, or damaged: "):
        CompiledModel.load(path)


def test_no_more_than_declared_is_decompressed(tmp_path, monkeypatch):
    path = tmp_path / "m.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("a", bytes(100 << 20))
    lie_about_size(path, "a", 10)
    asked = []

    class Counting:
        def __init__(self):
            self.inner = zlib.decompressobj(-15)

        def decompress(self, data, most=0):
            made = self.inner.decompress(data, most)
            asked.append(len(made))
            return made

        def __getattr__(self, name):
            return getattr(self.inner, name)

    monkeypatch.setattr(zipfile, "_get_decompressor", lambda kind: Counting())
    with archive.open_zip(str(path)) as found, pytest.raises((ValueError, zipfile.BadZipFile)):
        archive.read_member(found, found.getinfo("a"))
    assert sum(asked) < 1 << 20


def test_two_members_of_one_name_are_refused(tmp_path):
    handmade.branch().save(tmp_path / "m.asim")
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(tmp_path / "m.asim", "a") as made:
        made.writestr("model.json", b"{}")
    with pytest.raises(AdrenoSimError, match=r"two members are called 'model\.json'"):
        CompiledModel.load(tmp_path / "m.asim")


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_compressions_are_refused(tmp_path, method):
    handmade.branch().save(tmp_path / "m.asim")
    with zipfile.ZipFile(tmp_path / "m.asim", "a") as made:
        made.writestr("x", b"x", method)
    with pytest.raises(AdrenoSimError, match="x: encrypted or compressed in another way than stored or deflated"):
        CompiledModel.load(tmp_path / "m.asim")


ARRAYS = {
    "a shape that lies": (npy((1 << 40,), data=b"1234"), "4,398,046,511,104 bytes; it declares 4"),
    "a shape beyond 64 bits": (npy((1 << 62, 1 << 62), data=b""), "bytes; it declares 0"),
    "too much behind it": (npy((1,), data=b"12345678"), "4 bytes; it declares 8"),
    "objects": (npy((1,), "|O", b"12345678"), "expected numbers"),
    "fields": (npy((1,), [("a", "<f4")], b"1234"), "expected numbers"),
    "nothing for each element": (npy((1 << 62,), "|V0"), "expected numbers"),
    "a negative size": (npy((-1,), data=b"1234"), "expected sizes of 0 or more"),
    "no array": (b"none", ""),
    "a header that is no dict": (b"\x93NUMPY\x01\x00\x02\x00[\n", ""),
    "a header without end": (b"\x93NUMPY\x02\x00\xff\xff\xff\x7f" + b" " * 100_000, ""),
    "brackets without end": (b"\x93NUMPY\x02\x00\x10\x27\x00\x00" + b"(" * 10_000, ""),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_that_lie_are_refused(tmp_path, name):
    data, reason = ARRAYS[name]
    rewritten(tmp_path / "m.asim", **{"constants.npz": npz(k=data)})
    with pytest.raises(AdrenoSimError, match=r"m\.asim: not an adreno-sim bundle, or damaged: k\.npy: ") as said:
        CompiledModel.load(tmp_path / "m.asim")
    assert reason in str(said.value)
    assert "\n" not in str(said.value)
    if name != "too much behind it":
        (tmp_path / "a.npy").write_bytes(data)
        with pytest.raises(ValueError):
            load_npy(tmp_path / "a.npy")


SOME = [
    np.zeros((0, 4), np.int8), np.array(3, np.float16), np.array([True, False]), np.arange(24.0).reshape(2, 3, 4),
    np.asfortranarray(np.arange(24.0).reshape(2, 3, 4)), np.arange(5, dtype=">i4"), np.zeros(3, "V2"),
]  # fmt: skip


@pytest.mark.parametrize("mapped_from", [None, 0])
@pytest.mark.parametrize("array", SOME, ids=lambda array: f"{array.dtype}{array.shape}")
def test_arrays_are_read_as_numpy_reads_them(tmp_path, array, mapped_from):
    np.save(tmp_path / "a.npy", array)
    np.savez_compressed(tmp_path / "a.npz", array, named=array)
    if mapped_from is None or array.nbytes:
        found = load_npy(tmp_path / "a.npy", mapped_from)
        assert (found.shape, found.dtype, found.flags.f_contiguous) == (array.shape, array.dtype, array.flags.f_contiguous)
        assert found.tobytes() == array.tobytes()
    with open_npz(str(tmp_path / "a.npz")) as arrays:
        assert arrays.nbytes == 2 * array.nbytes
        assert {name: item.tobytes() for name, item in arrays.read_all().items()} == dict.fromkeys(
            ("arr_0", "named"), array.tobytes()
        )


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=200), st.integers(0, 10), st.binary(max_size=3))
def test_any_header_is_one_or_a_value_error(noise, at, more):
    good = npy((2, 3))
    for head in (noise, good[:at] + more + good[at + len(more) :], good[: at + 8] + noise):
        try:
            read_header(head)
        except ValueError as error:
            assert "\n" not in str(error)


MODEL = Model("m", None, (ModelInput("x", ("n", 4), "float32", None),))


def test_inputs_packed_a_thousandfold_are_fine_where_the_model_takes_them(tmp_path):
    np.savez_compressed(tmp_path / "x.npz", x=np.zeros((1_000_000, 4), np.float32))
    assert (tmp_path / "x.npz").stat().st_size < 20_000
    assert make_inputs(MODEL, tmp_path / "x.npz")["x"].shape == (1_000_000, 4)


@pytest.mark.parametrize(
    ("arrays", "reason"),
    [
        ({"x": npy((2, 5), data=bytes(40))}, "input 'x': expected nx4, got 2x5"),
        ({"x": npy((2, 4), "<i8", bytes(64)), "y": npy((1 << 20,), data=bytes(4 << 20))}, "inputs given: x, y"),
        ({"x": npy((2, 4), "<c8", bytes(64))}, "input 'x': expected float32, got complex64"),
        ({"x": npy((2, 4), "|O", bytes(64))}, "not a readable .npz file"),
    ],
)
def test_inputs_that_do_not_fit_are_not_decompressed(tmp_path, memory, arrays, reason):
    (tmp_path / "x.npz").write_bytes(npz(**arrays))
    with pytest.raises(AdrenoSimError) as said:
        make_inputs(MODEL, tmp_path / "x.npz")
    assert reason in str(said.value)
    assert not memory


def test_inputs_larger_than_memory_are_refused_by_size(tmp_path, memory, monkeypatch):
    monkeypatch.setattr(archive, "available_bytes", lambda: 1000)
    (tmp_path / "x.npz").write_bytes(npz(x=npy((100, 4), data=bytes(1600))))
    with pytest.raises(AdrenoSimError, match="its arrays: 1,600 bytes, and the host has 1,000 bytes of memory free"):
        make_inputs(MODEL, tmp_path / "x.npz")
    assert not memory


def test_a_picture_far_too_large_is_refused(tmp_path):
    pytest.importorskip("PIL")
    ihdr = (60_000).to_bytes(4, "big") * 2 + b"\x08\x02\x00\x00\x00"
    chunk = lambda kind, data: len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")  # noqa: E731
    (tmp_path / "x.png").write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", ihdr) + chunk(b"IDAT", b"") + chunk(b"IEND", b""))
    model = Model("m", None, (ModelInput("x", (1, 3, 4, 4), "float32", None),))
    with pytest.raises(AdrenoSimError, match=r"x\.png: not a readable picture .*exceeds limit"):
        make_inputs(model, tmp_path / "x.png")


def test_golden_inputs_that_do_not_fit_the_model_are_refused(tmp_path):
    from adreno_sim.compiler.check.check import check

    document = {"schema": "adreno-sim/golden/1", "origin": "o", "calls": {}, "references": [], "unchecked": []}
    rewritten(tmp_path / "m.asim", **{"golden.json": json.dumps(document).encode(), "golden.npz": npz()})
    with pytest.raises(AdrenoSimError, match="inputs given: none; the model's are"):
        check(tmp_path / "m.asim")
