"""The tests of this folder run on a simulated Adreno where ADRENO_SIM_DEVICE names one, as "sim:adreno-740"; else as they are.

Its place is tests/python/relax/backend/adreno of TVM.
"""

import os
import sys

if os.environ.get("ADRENO_SIM_DEVICE"):
    from adreno_sim.compiler import testing

    sys.modules["utils"] = testing  # each kernel and each module is judged, and nothing is skipped for want of a phone
