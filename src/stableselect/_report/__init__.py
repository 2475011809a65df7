"""A result as one page of HTML that a person can send. Needs the extra ``report``."""

try:
    import jinja2  # noqa: F401
except ImportError as error:
    raise ImportError('a report needs Jinja2: pip install "stableselect[report]"') from error

from ._write import report, report_html

__all__ = ["report", "report_html"]
