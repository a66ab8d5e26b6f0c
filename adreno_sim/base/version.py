"""The version of this project: pyproject.toml has the same."""

__version__ = "0.2.0"
