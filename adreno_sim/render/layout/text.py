"""The layout of an image under each pitch rule, as a table or as JSON `adreno-sim/layout/1`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, field
from typing import IO, Any

from ...backends.sim.limits import check_image
from ...base.errors import AdrenoSimError, DeviceError
from ...base.pitch_rules import PITCH_RULES
from ...base.specs import ImageSpec
from ...image import Layout, find_refusal, layout_of, offsets_of, texels_at
from ...profiles.profile import Profile
from ...records import dataclass

SCHEMA = "adreno-sim/layout/1"

MOST_BYTES = 1 << 62
"""Beyond this an offset does not fit the 64 bits it is computed in."""


@dataclass(frozen=True)
class LayoutReport:
    """rule: the one in force; layouts: under every rule. texels: (coordinate, byte offset), -1 outside the image; bytes:
    (offset, coordinate), -1 in each component where a byte is padding or outside. refused: why the device has no such image;
    refusing: rules by which none takes its pitches over a buffer, and why."""

    profile: str
    spec: ImageSpec
    rule: str
    layouts: Mapping[str, Layout]
    texels: Sequence[tuple[tuple[int, ...], int]]
    bytes: Sequence[tuple[int, tuple[int, ...]]]
    over_buffer: bool
    refused: str = ""
    refusing: Mapping[str, str] = field(default_factory=dict)

    @property
    def marked(self) -> list[tuple[int, ...]]:
        """The texels that were asked about, by their coordinates or by a byte."""
        return [texel for texel, at in self.texels if at >= 0] + [texel for _, texel in self.bytes if min(texel) >= 0]

    @staticmethod
    def of(
        spec: ImageSpec,
        profile: Profile,
        rule: str | None,
        over_buffer: bool,
        coordinates: Sequence[tuple[int, int, int]],
        offsets: Sequence[int],
    ) -> LayoutReport:
        """Raises DeviceError for an image that cannot be."""
        chosen = rule or profile["pitch_rule" if over_buffer else "own_pitch_rule"]
        layouts = {name: layout_of(spec, profile, name) for name in PITCH_RULES}
        layout = layouts[chosen]
        if layout.nbytes > MOST_BYTES:
            raise DeviceError("CL_INVALID_IMAGE_SIZE", f"{spec}: {layout.nbytes} bytes: expected at most {MOST_BYTES}")
        far = next((n for n in [*offsets, *(c for at in coordinates for c in at)] if abs(n) > MOST_BYTES), None)
        if far is not None:
            raise AdrenoSimError(f"{far}: expected a coordinate or offset of at most {MOST_BYTES}")
        begins = offsets_of(layout, coordinates).tolist() if coordinates else []
        held = texels_at(layout, offsets).tolist() if offsets else []
        return LayoutReport(
            profile.name,
            spec,
            chosen,
            layouts,
            list(zip(coordinates, begins, strict=True)),
            [(offset, tuple(texel)) for offset, texel in zip(offsets, held, strict=True)],
            over_buffer,
            _refusal(spec, profile),
            _refusing_rules(spec, profile, layouts) if over_buffer else {},
        )


def _refusal(spec: ImageSpec, profile: Profile) -> str:
    """Why the device makes no such image; "" if it does."""
    try:
        check_image(spec, profile)
    except DeviceError as error:
        return str(error)
    return ""


def _refusing_rules(spec: ImageSpec, profile: Profile, layouts: Mapping[str, Layout]) -> dict[str, str]:
    found = {rule: find_refusal(layout, spec.kind, 0, profile, rule) for rule, layout in layouts.items()}
    return {rule: why for rule, why in found.items() if why}


def show(report: LayoutReport, file: IO[str]) -> None:
    """Print a line per pitch rule, the one in force marked, and what was asked of texels and bytes."""
    layout = report.layouts[report.rule]
    print(
        f"{report.spec.kind} of {layout.width} x {layout.height} x {layout.layers} texels {report.spec.order} "
        f"{report.spec.channel_type} ({layout.texel_bytes} B each) {'over a buffer ' if report.over_buffer else ''}on "
        f"{report.profile}",
        file=file,
    )
    for rule, found in report.layouts.items():
        padding, mark = found.nbytes - found.dense_bytes, "*" if rule == report.rule else " "
        print(
            f"  {mark} {rule:<9} row pitch {found.row_pitch} B, slice pitch {found.slice_pitch} B, "
            f"{found.nbytes} B with {padding} B ({100 * padding / found.nbytes:.1f} %) padding",
            file=file,
        )
        if rule in report.refusing:
            print(f"              CL_INVALID_IMAGE_FORMAT_DESCRIPTOR: {report.refusing[rule]}", file=file)
    if report.refused:
        print(f"{report.profile} makes no such image: {report.refused}", file=file)
    for coordinate, offset in report.texels:
        print(f"texel {coordinate}: {f'byte {offset}' if offset >= 0 else 'outside the image'}", file=file)
    for offset, texel in report.bytes:
        print(f"byte {offset}: {_holder(layout, offset, texel)}", file=file)


def _holder(layout: Layout, offset: int, texel: tuple[int, ...]) -> str:
    if texel[0] >= 0:
        return f"texel {texel}"
    return "padding" if 0 <= offset < layout.nbytes else "outside the image"


def to_json(report: LayoutReport) -> dict[str, Any]:
    """The report as JSON-ready data."""
    rules = {
        rule: {**asdict(found), "nbytes": found.nbytes, "dense_bytes": found.dense_bytes}
        for rule, found in report.layouts.items()
    }
    return {
        "schema": SCHEMA,
        "profile": report.profile,
        "image": {key: value for key, value in asdict(report.spec).items() if key != "extent"},
        "rule": report.rule,
        "over_buffer": report.over_buffer,
        "refused": report.refused,
        "refusing": dict(report.refusing),
        "layouts": rules,
        "texels": [{"coordinate": list(at), "byte": None if offset < 0 else offset} for at, offset in report.texels],
        "bytes": [{"byte": offset, "coordinate": None if texel[0] < 0 else list(texel)} for offset, texel in report.bytes],
    }
