"""Documents, pictures and published figures."""

from ._colours import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION, line_style
from ._document import (
    NO_PICTURES,
    NONE,
    Block,
    Document,
    Picture,
    Table,
    can_draw,
    csv_value,
    drawn,
    number,
    picture,
    plain_ticks,
    with_spread,
    without_spread,
)
from ._experiment import Experiment
from ._published import published, published_value

__all__ = [
    "BLACK",
    "BLUE",
    "GREEN",
    "GREY",
    "NONE",
    "NO_PICTURES",
    "ORANGE",
    "PURPLE",
    "SKY",
    "VERMILION",
    "Block",
    "Document",
    "Experiment",
    "Picture",
    "Table",
    "can_draw",
    "csv_value",
    "drawn",
    "line_style",
    "number",
    "picture",
    "plain_ticks",
    "published",
    "published_value",
    "with_spread",
    "without_spread",
]
