"""The page in a real browser: it sorts, filters and opens, asks nobody for anything, and runs nothing of a table."""

import base64
import json
import shutil

import numpy as np
import pytest

from stableselect import ColumnSubset, report
from stableselect._report._page import Column, Grid, Page, Section, render

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402

pytestmark = [pytest.mark.browser, pytest.mark.slow]

FLAGS = (
    "headless=new",
    "no-sandbox",
    "disable-gpu",
    "disable-dev-shm-usage",
    "disable-quic",
    "no-first-run",
    "disable-background-networking",
    "disable-component-update",
    "disable-sync",
    "hide-scrollbars",
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """Start Chromium with a profile of its own; selenium is told where the driver is, else it would fetch one."""
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    driver = shutil.which("chromedriver")
    if program is None or driver is None:
        pytest.skip("no Chromium with chromedriver on this machine")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in (*FLAGS, f"user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    started = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    started.set_page_load_timeout(60)
    yield started
    started.quit()


@pytest.fixture(scope="module")
def page(hostile, tmp_path_factory):
    """Write the report of a table with names that mean harm."""
    return report(ColumnSubset(4).fit(hostile), tmp_path_factory.mktemp("page") / "page.html", hostile)


@pytest.fixture
def opened(browser, page):
    browser.get_log("browser")
    browser.get_log("performance")
    browser.get(page.as_uri())
    return browser


def grid(browser, name):
    return browser.find_element(By.ID, f"grid-{name}")


def column(found, place):
    """Return the cells of a column in one call: rows are made anew when they are sorted or filtered."""
    script = (
        "return [...arguments[0].querySelectorAll(`tbody td:nth-child(${arguments[1]})`)].map((one) => one.innerText)"
    )
    return found.parent.execute_script(script, found, place)


def wait_for(found, words):
    """Wait until the line above a table says something."""
    WebDriverWait(found.parent, 20).until(lambda _: found.find_element(By.CLASS_NAME, "told").text.endswith(words))


def requested(browser, page):
    """Return every address that a page has asked for; the browser's own pages ask for others."""
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    sent = [one["params"] for one in messages if one["method"] == "Network.requestWillBeSent"]
    return [one["request"]["url"] for one in sent if one["documentURL"] == page]


def test_it_opens_without_a_complaint_and_asks_for_nothing(opened, page):
    assert opened.get_log("browser") == []
    assert requested(opened, page.as_uri()) == [page.as_uri()]
    assert opened.execute_script("return window.hurt") is None
    assert opened.find_element(By.TAG_NAME, "h1").text == "4 of 14 columns"


def test_names_are_shown_as_they_are(opened, hostile):
    shown = column(grid(opened, "columns"), 1)
    assert {"<img src=x onerror='window.hurt = 2'>", "{{ 7 * 7 }}{% raw %}", "温度 摄氏度", "x" * 400} <= set(shown)
    assert len(shown) == hostile.shape[1]
    assert opened.find_elements(By.CSS_SELECTOR, "img, main b, script[src]") == []


def test_a_heading_sorts_by_mouse_and_by_keyboard(opened):
    found = grid(opened, "columns")
    head = found.find_elements(By.TAG_NAME, "th")[2]
    head.find_element(By.TAG_NAME, "button").click()
    values = [float(text.rstrip("%")) for text in column(found, 3)]
    assert head.get_attribute("aria-sort") == "descending" and values == sorted(values, reverse=True)
    head.find_element(By.TAG_NAME, "button").send_keys(Keys.ENTER)
    values = [float(text.rstrip("%")) for text in column(found, 3)]
    assert head.get_attribute("aria-sort") == "ascending" and values == sorted(values)
    others = [one.get_attribute("aria-sort") for one in found.find_elements(By.TAG_NAME, "th")]
    assert others.count(None) == len(others) - 1


def test_words_and_choices_filter(opened):
    found = grid(opened, "columns")
    found.find_element(By.CLASS_NAME, "filter").send_keys("温度")
    wait_for(found, " of 14 rows")
    assert "温度 摄氏度" in column(found, 1) and len(column(found, 1)) < 14
    found.find_element(By.CLASS_NAME, "filter").clear()
    found.find_element(By.CLASS_NAME, "filter").send_keys(Keys.SPACE, Keys.BACKSPACE)
    wait_for(found, "14 rows")
    found.find_element(By.CSS_SELECTOR, ".choice option:nth-child(3)").click()
    assert set(column(found, 2)) == {"selected"} and len(column(found, 2)) == 4


def test_the_numbers_behind_a_chart_open_and_are_copied(opened):
    numbers = opened.find_element(By.CSS_SELECTOR, "#error details.numbers")
    assert not numbers.find_element(By.TAG_NAME, "table").is_displayed()
    numbers.find_element(By.TAG_NAME, "summary").send_keys(Keys.ENTER)
    assert numbers.find_element(By.TAG_NAME, "table").is_displayed()
    numbers.find_element(By.CLASS_NAME, "copy").click()
    assert numbers.find_element(By.CLASS_NAME, "told").text == "4 rows copied"


def test_what_a_reader_of_screens_needs_is_there(opened):
    script = "return [...document.querySelectorAll(arguments[0])].map((one) => one.ariaLabel || one.textContent.trim())"
    assert all(opened.execute_script(script, "svg[role=img], button, summary, th, caption, nav, h2"))
    assert opened.execute_script(
        "return Array.from(document.querySelectorAll('input, select')).every((one) => one.labels.length)"
    )
    opened.find_element(By.TAG_NAME, "body").send_keys(Keys.TAB)
    assert opened.switch_to.active_element.text == "Skip to the content"
    opened.switch_to.active_element.send_keys(Keys.ENTER)
    assert opened.switch_to.active_element.tag_name == "main"


def test_the_policy_stops_what_gets_in_all_the_same(opened):
    opened.execute_script(
        "const one = document.createElement('script'); one.textContent = 'window.hurt = 5'; document.body.append(one);"
        "const two = new Image(); two.src = 'https://example.invalid/x.png';"
    )
    stopped = opened.execute_async_script(
        "const done = arguments[0]; fetch('https://example.invalid/').then(() => done('sent'), () => done('stopped'))"
    )
    assert stopped == "stopped" and opened.execute_script("return window.hurt") is None
    assert any("Content Security Policy" in entry["message"] for entry in opened.get_log("browser"))


@pytest.mark.parametrize("width", [390, 1280])
def test_it_fits_a_phone_and_a_desk_in_light_and_dark(opened, width):
    seen = {}
    for scheme in ("light", "dark"):
        feature = {"name": "prefers-color-scheme", "value": scheme}
        opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
        screen = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        opened.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        seen[scheme] = opened.execute_script("return getComputedStyle(document.body).backgroundColor")
        assert opened.execute_script("return document.documentElement.scrollWidth") <= width
    assert seen == {"light": "rgb(255, 255, 255)", "dark": "rgb(18, 22, 28)"}
    opened.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_it_prints(opened):
    printed = base64.b64decode(opened.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"])
    assert printed.startswith(b"%PDF") and 2 <= printed.count(b"/Type /Page\n") <= 20


def test_many_rows_are_shown_a_page_at_a_time(browser, tmp_path):
    numbers = np.random.default_rng(0).permutation(20_000)
    rows = [[f"gene {number:05d}", "even" if number % 2 == 0 else "odd", number / 20_000] for number in numbers]
    columns = [Column("Column", "name"), Column("Role", choices=True), Column("Explained", "percent")]
    path = tmp_path / "large.html"
    section = Section("columns", "Every column", (), [Grid("columns", "All columns", columns, rows)])
    path.write_text(render(Page("Large", "", (), [section])), encoding="utf-8")
    browser.get(path.as_uri())
    found = grid(browser, "columns")
    assert len(column(found, 1)) == 25 and found.find_element(By.CLASS_NAME, "told").text == "20000 rows"
    found.find_element(By.CSS_SELECTOR, "th button").click()
    assert column(found, 1)[:2] == ["gene 00000", "gene 00001"]
    found.find_element(By.CLASS_NAME, "on").click()
    assert column(found, 1)[0] == "gene 00025"
    assert found.find_element(By.CLASS_NAME, "where").text == "Page 2 of 800"
    found.find_element(By.CSS_SELECTOR, ".choice option:nth-child(3)").click()
    wait_for(found, "10000 of 20000 rows")
    assert column(found, 1)[:2] == ["gene 00001", "gene 00003"]


def test_without_script_the_first_rows_are_there(browser, page):
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    browser.get(page.as_uri())
    assert len(grid(browser, "columns").find_elements(By.CSS_SELECTOR, "tbody tr")) == 14
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
