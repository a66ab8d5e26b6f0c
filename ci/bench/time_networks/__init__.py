"""Networks whose times on a phone were published, beside their predicted times."""
