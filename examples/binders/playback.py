"""Stands in a predictor's place: gives what was recorded for a sequence, and predicts nothing.

It is started as ColabFold is: `python playback.py INPUT.fasta OUTPUT …`.
"""

import shutil
import sys
from pathlib import Path

sequence = Path(sys.argv[1]).read_text().split()[1]
place = Path(__file__).parent / "recorded" / sequence
if not sequence.isalpha() or not place.is_dir():
    sys.exit(f"nothing was recorded for {sequence}")
shutil.copytree(place, sys.argv[2], dirs_exist_ok=True)
