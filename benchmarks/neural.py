"""`make bench-neural`: quality and speed of the networks; finished quality cells are not repeated.

With ``--jobs N`` N cells run at once (2 by default).
"""

from __future__ import annotations

import argparse

import neural_quality
import neural_speed
from _data import available

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--quality", action="store_true", help="quality alone")
    options = parser.parse_args()
    if available():
        if not options.quality:
            neural_speed.run()
        neural_quality.run(options.jobs)
        for title, content in {
            "own error": neural_quality.table("own"),
            "least squares": neural_quality.table("least_squares"),
            "ridge": neural_quality.table("ridge"),
            "accuracy, %": neural_quality.table("accuracy"),
            "seconds": neural_quality.table("seconds"),
            "stability over seeds": neural_quality.seed_stability(),
            "below the floor": neural_quality.below_floor(),
            "published settings": neural_quality.published_table(),
            "speed": neural_speed.table(),
        }.items():
            print(f"\n## {title}\n\n{content}")
