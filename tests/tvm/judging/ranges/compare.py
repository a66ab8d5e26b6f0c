"""Checks random networks of `networks` on a simulated device: an error is a false alarm, or a defect to look into.

python -m tests.tvm.judging.ranges.compare --count 2000 --jobs 16 --seconds 900     # from the top of the repository
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import adreno_sim
from adreno_sim.base.errors import AdrenoSimError
from adreno_sim.findings import Severity

sys.path.insert(0, str(Path(__file__).parents[3]))

from seeds import add_options, run_campaign

from .networks import Maker


def find_alarm(seed: int) -> str:
    """Checks the network of a seed. Returns what is told of it as an error, "" if nothing is."""
    case = Maker(seed).case()
    device = adreno_sim.open_device("sim:adreno-740", checks="bounds")
    try:
        report = adreno_sim.check(case.module, case.inputs, device=device, target=case.target, keep_going=True)
    except AdrenoSimError as error:
        return f"{case.words}: refused: {error}"
    errors = [finding for finding in report.findings if finding.severity is Severity.ERROR]
    return "" if not errors else f"{case.words}: " + " | ".join(f"{error.kind.label}: {error.message}" for error in errors)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser, count=2000)
    from tests.tvm.judging.ranges.compare import find_alarm  # as other processes import it

    sys.exit(run_campaign(find_alarm, parser.parse_args(), "networks"))
