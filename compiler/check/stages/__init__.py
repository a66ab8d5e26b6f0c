"""The stages of a check, over one context."""
