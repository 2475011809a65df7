"""Formulas as MathML, which browsers draw by themselves: no script, no font and no request to another host."""

from __future__ import annotations

from typing import Any

from docutils.nodes import SkipNode
from docutils.utils.math.latex2mathml import tex2mathml


def visit(translator: Any, node: Any, block: bool) -> None:
    """Write a formula; what is inside the node is done with."""
    text = tex2mathml(node.astext(), as_block=block)
    translator.body.append(f'<div class="math-block">{text}</div>\n' if block else text)
    raise SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Register the renderer."""
    app.add_html_math_renderer(
        "mathml",
        (lambda translator, node: visit(translator, node, False), None),
        (lambda translator, node: visit(translator, node, True), None),
    )
    return {"parallel_read_safe": True}
