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
from ._images import Images, find_images, one_of_each, sheet, why_none
from ._page import write_document, write_index
from ._published import CAUSES, causes, differs, printed, published, published_value

__all__ = [
    "BLACK",
    "BLUE",
    "CAUSES",
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
    "Images",
    "Picture",
    "Table",
    "can_draw",
    "causes",
    "csv_value",
    "differs",
    "drawn",
    "find_images",
    "line_style",
    "number",
    "one_of_each",
    "picture",
    "plain_ticks",
    "printed",
    "published",
    "published_value",
    "sheet",
    "why_none",
    "with_spread",
    "without_spread",
    "write_document",
    "write_index",
]
