"""Passes over kernel IR that keep every defect of the source visible."""
