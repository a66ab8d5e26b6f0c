"""`python -m adreno_sim`: the command line."""

import sys

from .cli import main

sys.exit(main())
