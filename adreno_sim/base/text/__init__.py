"""Text that comes from outside, as it is shown and printed."""
