"""Step limits of slow methods: not limits on time, so that repeats agree."""

from __future__ import annotations

FAULTY = " with fault A"
"""Ends the name of a method whose test samples are ranked apart, as published."""

CAPPED = {
    "NDFS": "max_iter",
    "AEFS": "epochs",
    "AgnoS-S": "epochs",
    "CAE": "epochs",
    "|W|": "epochs",
    "W^2": "epochs",
    "ScorerSelectorNetwork annealed": "epochs",
    "ConsensusSelector": "n_resamples",
}
"""The parameter that a limit sets."""

_LARGE = ("activity", "isolet", "mnist_fashion", "usps")

CAPS: dict[tuple[str, str, str], int] = {
    # (method, protocol or "fast " + protocol, dataset or "*"): steps.
    **{("NDFS", "paper", name): 300 for name in _LARGE},
    ("NDFS", "fast paper", "*"): 100,
    ("AEFS", "paper", "coil20"): 700,
    ("AEFS", "paper", "activity"): 300,
    ("AEFS", "paper", "isolet"): 60,
    ("AEFS", "paper", "mnist_fashion"): 100,
    ("AEFS", "paper", "usps"): 110,
    ("AEFS", "paper", "smk_can_187"): 300,
    ("AEFS", "paper", "arcene"): 400,
    ("AEFS", "fast paper", "*"): 20,
    ("AgnoS-S", "paper", "isolet"): 400,
    ("AgnoS-S", "paper", "usps"): 300,
    ("AgnoS-S", "paper", "smk_can_187"): 500,
    ("AgnoS-S", "fast paper", "*"): 20,
    ("CAE", "paper", "activity"): 300,
    ("CAE", "paper", "isolet"): 150,
    ("CAE", "paper", "mnist_fashion"): 200,
    ("CAE", "paper", "usps"): 400,
    ("CAE", "paper", "smk_can_187"): 250,
    ("CAE", "paper", "arcene"): 400,
    ("CAE", "fast paper", "*"): 20,
    **{(method, f"fast {protocol}", "*"): 20 for method in ("|W|", "W^2") for protocol in ("paper", "corrected")},
    # Full-batch steps, each a fraction of an epoch's work.
    **{
        ("ScorerSelectorNetwork annealed", protocol, name): steps
        for protocol in ("paper", "corrected")
        for name, steps in (("glioma", 800), ("prostate_ge", 450), ("smk_can_187", 100), ("arcene", 200))
    },
    **{("ScorerSelectorNetwork annealed", f"fast {protocol}", "*"): 200 for protocol in ("paper", "corrected")},
}
"""Step limits, not limits on time, so that repeats agree; a method that is not named here runs to its own end."""


def cap(method: str, protocol: str, dataset: str, *, fast: bool) -> int | None:
    """Return the step limit of a run, None where there is none."""
    plain = method.removesuffix(FAULTY)
    where = f"fast {protocol}" if fast else protocol
    return CAPS.get((plain, where, dataset), CAPS.get((plain, where, "*")))
