"""The interpreter of NIR beside these tests is a module that they import."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
