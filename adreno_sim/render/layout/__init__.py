"""An image's layout in memory."""
