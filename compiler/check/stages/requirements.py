"""What a device lacks for a model, before anything runs."""

from __future__ import annotations

from ....base.errors import OptionError, UnsupportedError
from ...lower.targets import thread_limit
from ..prepare import PreparedRun
from ..support import oversized_groups, refused_kernels, require_graphs, require_images, unfit_parameters
from .context import CheckContext


def require_runnable(context: CheckContext, ready: PreparedRun) -> None:
    """Refuse what the device lacks; with keep_going, only the kernels that need it."""
    compiled, info, options = ready.compiled, context.device.info, context.options
    require_graphs(compiled, info)
    require_images(compiled, info)
    context.findings.add(unfit_parameters(compiled))
    context.refused.update(refused_kernels(compiled, info))
    if context.refused and not options.keep_going:
        first = str(next(iter(context.refused.values())))
        raise UnsupportedError(
            f"{first} ({len(context.refused)} of {len(compiled.kernels)} kernels; --keep-going runs the others)"
        )
    if ready.kernels is not None:  # of a bundle the target is a name alone
        context.findings.add(oversized_groups(compiled, thread_limit(options.target)))
    wanted = options.reproduce_kernel
    if wanted and wanted not in compiled.kernels:
        known = f"the model has no such kernel; there are: {', '.join(compiled.kernels) or 'none'}"
        raise OptionError("reproduce_kernel", f"{wanted}: {known}")
