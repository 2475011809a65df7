"""The assumptions behind the paper's theorems, and Proposition 1: what each needs, and whether the data have it."""

from __future__ import annotations

from ..figure3 import FAST_NOTE
from ..methods import Results
from ..report import Block, Document, Experiment, drawn
from ._core_tables import assumption2, published_procedure
from ._figures import draw_core, draw_sides
from ._found import Found
from ._plan import plan_runs
from ._tables import assumption1, assumption3, constants, proposition1

_SETTING = (
    "Setting. Samples x are scaled as the protocol says and taken less the mean of the n training samples; the paper's "
    "formulas have no intercept. Phi is the diagonal of the scores fitted on all n samples, Phi' of those fitted "
    "without sample j, and max_k keeps the k largest. The fit is this package's search, which minimises the objective "
    "exactly for the features it selects (no ridge); scores are canonical: the norm of a feature's row of Phi W_E "
    "times its standard deviation, outside the selection scaled below those inside.",
    "Held: W_E and W_D stay those of the full fit, and Phi' minimises the objective of the other samples over the "
    "scores alone. With B = W_E W_D, C the second moments of the other samples, and s_a = 1 for selected features and "
    "0 for others, it solves the linear system sum_b (s_a s_b + lambda) C_ab (BB')_ab phi_b = (s_a + lambda) (B C)_aa; "
    "of several solutions the one is taken whose ratios to the scores of Phi are nearest to 1, and phi >= 0 is imposed "
    "where it binds. It stays in the same selection: where a score outside overtakes one inside, the table says so.",
    "Refitted: everything is fitted again without sample j, features, W_E, W_D and the mean included. Where the paper "
    "writes Phi W_E W_D - Phi' W_E W_D, the difference of the two products Phi W_E W_D and Phi' W_E' W_D' is taken, "
    "and a path from Phi to Phi' moves from one product to the other along a straight line. The mean moves too, so "
    "a 1 is appended to x. The published network (|W|, its batch sizes, the same seed for both fits) is refitted "
    "only: it is not a minimiser, so no Phi' follows from it with the maps held.",
    "Samples left out: the last one, as published, and random others. Under paper the training samples are the first n "
    "of the published split; under corrected random samples, scaled by the training part.",
)


def _render(results: Results) -> Document:
    found = Found(results)
    blocks: list[Block] = [FAST_NOTE, *_SETTING] if results.mode == "fast" else [*_SETTING]
    blocks += [*assumption1(found), *assumption2(found)]
    if found.any("core"):
        blocks.append(drawn(lambda: draw_core(found)))
    blocks += [*published_procedure(found), *assumption3(found)]
    if found.any("removal"):
        blocks.append(drawn(lambda: draw_sides(found)))
    blocks += [*proposition1(found), *constants(found)]
    return Document("assumptions", EXPERIMENT.title, blocks, found.data)


EXPERIMENT = Experiment("assumptions", "Assumptions 1 to 3 and Proposition 1, measured", plan_runs, _render)
