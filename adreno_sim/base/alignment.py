"""Rounding up to an alignment."""


def align_up(value: int, alignment: int) -> int:
    """Returns the smallest multiple of `alignment` (> 0) that is not below `value`."""
    return -(-value // alignment) * alignment
