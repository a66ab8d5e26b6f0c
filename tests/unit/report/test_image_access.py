"""What a build says of an image that is used against its access qualifier: its name, and nothing of twenty other functions."""

import pytest

from adreno_sim.frontend.diagnostics import Diagnostic
from adreno_sim.frontend.image_access import name_access


def refused(function: str, has: str, source: str) -> list[Diagnostic]:
    """What clang prints of a call: the error, and a note of each function of that name."""
    takes = ("read_only", "write_only", "read_write")
    text = (
        "candidate function not viable: no known conversion from '__private __%s image2d_t' to '__%s image%s_t' for 1st argument"
    )
    notes = [text % (has, access, kind) for access in takes for kind in ("1d", "2d")]
    call = Diagnostic(
        "", 4, 9, "error", f"no matching function for call to '{function}'", source, " " * source.index(function) + "^~~~"
    )
    return [call, *(Diagnostic("", 4, 9, "note", note, source) for note in notes), Diagnostic("", 5, 1, "warning", "unused")]


@pytest.mark.parametrize(
    "function, has, source, told",
    [
        ("read_imagef", "write_only", "  y = read_imagef(dst, at);", "dst is write_only: expected an image that is read_only"),
        (
            "write_imageui",
            "read_only",
            "  write_imageui( src , at, v);",
            "src is read_only: expected an image that is write_only",
        ),
        ("read_imagei", "write_only", "  y = read_imagei((dst), at);", "the image is write_only"),
    ],
)
def test_the_image_and_its_access_are_named(function, has, source, told):
    error, note, warning = name_access(refused(function, has, source))
    assert error.message.startswith("no matching function")
    assert warning.message == "unused"
    assert note.severity == "note"
    assert note.message.startswith(told)
    assert note.line == error.line


@pytest.mark.parametrize("function, has", [("read_imagef", "read_only"), ("write_imagef", "read_write"), ("f", "write_only")])
def test_what_is_wrong_otherwise_stays_as_it_is(function, has):
    found = refused(function, has, f"  {function}(dst, at);")
    assert name_access(found) == found
