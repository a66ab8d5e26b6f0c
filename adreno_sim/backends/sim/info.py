"""What a simulated device tells of itself through the protocol."""

from __future__ import annotations

from ...device.protocol import DeviceInfo
from ...image.layout import KINDS
from ...profiles.profile import Profile


def device_info(profile: Profile) -> DeviceInfo:
    """What the device of a profile is and can do."""
    return DeviceInfo(
        name=profile.name,
        backend="sim",
        version=profile["device_version"],
        extensions=profile.extensions,
        limits=profile.limits,
        lacks=tuple(_lacks(profile)),
        builds_in_parallel=True,
        image_views=frozenset(filter(profile.images_over_buffers, KINDS)),
        pitch_rule=profile["pitch_rule"],
        profile=profile,
        ml=profile.ml,
    )


def _lacks(profile: Profile) -> list[str]:
    if profile.images_over_buffers("image2d_array"):
        return []
    what = "image arrays over buffers (cl_ext_image_from_buffer)" if profile.image_from_buffer else "images over buffers"
    return [f"{what}: such a view is a separate image, kept coherent with its storage by copies"]
