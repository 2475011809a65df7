"""`make bench`: print the stored results."""

from __future__ import annotations

import core_faithful
import core_quality
import core_scale
import core_speed


def main() -> None:
    """Print every table."""
    print("\n## Quality: test error with a least-squares refit, mean of 4 splits\n")
    print(core_quality.table("least_squares"))
    print("\n## Quality: test error with a ridge refit\n")
    print(core_quality.table("ridge"))
    print("\n## Quality: accuracy of extra trees on the kept columns, %\n")
    print(core_quality.table("accuracy"))
    print("\n## Verdicts\n")
    print(core_quality.verdicts())
    print("\n## The published protocol repeated\n")
    print(core_faithful.table())
    print("\n## Speed\n")
    print(core_speed.table())
    print("\n## Scale\n")
    print(core_scale.table())


if __name__ == "__main__":
    main()
