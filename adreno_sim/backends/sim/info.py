"""What a simulated device reports about itself: through the protocol, and its compiler to sources."""

from __future__ import annotations

from ...base.run_options import RunOptions
from ...device.protocol import DeviceInfo
from ...frontend.driver import FrontEndTarget
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
    return [f"makes no {what}: such a view is a separate image, kept coherent with its storage by copies"]


def front_end_target(profile: Profile, options: RunOptions) -> FrontEndTarget:
    """What the device's compiler announces to a source."""
    major, minor = profile["opencl"].split(".")
    return FrontEndTarget(
        opencl_version=int(major) * 100 + int(minor) * 10,
        extensions=profile.extensions | profile.compiler_extensions,
        fp16="cl_khr_fp16" in profile.extensions,
        fp64="cl_khr_fp64" in profile.extensions,
        unsafe_includes=options.unsafe_includes,
        folds_finite_math=options.finite_math == "folded",
    )
