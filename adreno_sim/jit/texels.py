"""Texels."""


def texel_bytes(order, channel_type):
    return 16
