"""`make bench-core`: quality, faithfulness, speed and scale of the core; finished quality cells are not repeated."""

from __future__ import annotations

import core_faithful
import core_quality
import core_scale
import core_speed
import show
from _data import available

if __name__ == "__main__":
    core_scale.run()
    if available():
        core_speed.run()
        core_faithful.run()
        core_quality.run()
    show.main()
