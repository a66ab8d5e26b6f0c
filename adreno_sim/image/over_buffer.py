"""Whether a device takes an image over a buffer, under its pitch rule or another (`base.pitch_rules`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.errors import DeviceError
from ..base.pitch_rules import PITCH_RULES, find_pitch_rule
from ..base.specs import ImageSpec
from .layout import ONE_ROW, Layout, layout_of

if TYPE_CHECKING:
    from ..profiles.profile import Profile


def find_refusal(layout: Layout, kind: str, offset: int, profile: Profile, rule: str) -> str:
    """Why clCreateImage refuses the pitches or the address of an image, "" if it takes them. 1D images have no pitch."""
    if kind in ONE_ROW:
        return ""
    found = find_pitch_rule(rule)
    for what, value, limit in (
        ("with row_pitch", layout.row_pitch, "IMAGE_PITCH_ALIGNMENT"),
        ("at offset", offset, "IMAGE_BASE_ADDRESS_ALIGNMENT"),
    ):
        multiple = found.required_multiple(profile[limit], layout.texel_bytes)
        if multiple and value % multiple:
            return f"{kind} over a buffer {what} {value}: expected a multiple of {multiple} bytes ({limit}, rule {rule})"
    if layout.layers > 1 and layout.slice_pitch % found.layer:
        wrong = f"with slice_pitch {layout.slice_pitch}: expected a multiple of {found.layer} bytes"
        return f"{kind} over a buffer {wrong} (rule {rule})"
    return ""


def find_disagreement(spec: ImageSpec, offset: int, room: int, profile: Profile) -> str:
    """Which pitch rules refuse an image whose host computed its pitch, though others take it; "" if they agree.

    room: bytes of the buffer from the image's address on.
    """
    if spec.row_pitch is None and spec.slice_pitch is None:
        return ""
    refusals = {rule: _refusal_under(rule, spec, offset, room, profile) for rule in PITCH_RULES}
    refused = [text for text in refusals.values() if text]
    return "; ".join(refused) if 0 < len(refused) < len(refusals) else ""


def _refusal_under(rule: str, spec: ImageSpec, offset: int, room: int, profile: Profile) -> str:
    try:
        layout = layout_of(spec, profile, rule)
    except DeviceError as error:
        return f"{error} (rule {rule})"
    if layout.nbytes > room:
        return f"{layout.nbytes} bytes, the buffer has {room} (rule {rule})"
    return find_refusal(layout, spec.kind, offset, profile, rule)
