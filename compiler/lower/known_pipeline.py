"""Which names of pipelines and fixes there are, found out before TVM is imported."""

from __future__ import annotations

from collections.abc import Sequence

from ...base.errors import AdrenoSimError, OptionError


def require_pipeline(pipeline: object, without: Sequence[str]) -> None:
    """Raise AdrenoSimError for an unknown pipeline, or a name in `without` that is not a fix of it. Imports no TVM."""
    if pipeline not in ("fixed", "stock") and not callable(pipeline):
        raise AdrenoSimError(
            f"pipeline {pipeline!r}: expected 'fixed' or 'stock', or from Python a pass or a callable on modules"
        )
    if pipeline == "stock" and without:
        raise OptionError("without_fix", f"{', '.join(without)}: the stock pipeline has no fixes to leave out")
    if without:
        from ..passes.registry import require_fixes  # all fixes, which a model that is kept on disk does not need

        require_fixes(without)
