"""Pictures are drawn without a window, and every test starts without a figure."""

import pytest


@pytest.fixture(autouse=True)
def no_open_figures():
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    plt.close("all")
    yield
    plt.close("all")
