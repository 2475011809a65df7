"""Tables whose names try to break out of the page."""

import numpy as np
import pandas as pd
import pytest

NAMES = [
    "</script><script>window.hurt = 1</script>",
    "<img src=x onerror='window.hurt = 2'>",
    '"><svg onload="window.hurt = 3">',
    "{{ 7 * 7 }}{% raw %}",
    "<!--",
    "]]>&lt;b&gt;",
    "javascript:window.hurt=4",
    "\u202eright to left",
    "温度 摄氏度",
    "درجة الحرارة",
    "\u2028line\u2029s",
    "x" * 400,
    " ",
    "a\tb\nc",
]


@pytest.fixture(scope="session")
def hostile():
    """Return a table of 60 samples and 14 features with names that mean harm, or are long or not Latin."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(60, 5)) @ rng.normal(size=(5, len(NAMES))) + 0.3 * rng.normal(size=(60, len(NAMES)))
    return pd.DataFrame(values, columns=NAMES)
