"""The page end to end, in headless Chromium; skipped where there is none."""

import copy
import json
import time
from urllib.request import urlopen

import numpy as np
import pandas as pd
import pytest
from explore_models import running, small_model, small_views

from manyviews import explore
from manyviews.data import When

pytestmark = pytest.mark.filterwarnings("ignore::manyviews.errors.ConvergenceWarning")

PATIENCE = 20.0  # seconds


@pytest.fixture(scope="module")
def site():
    labels = pd.Series(["a", "b"] * 20, small_model().samples_, name="batch")
    with running(explore.app(small_model(), labels=labels)) as (host, port):
        yield f"http://{host}:{port}/"


class Page:
    """What a visitor sees and does."""

    def __init__(self, browser, site, width=1400, height=900):
        self.browser = browser
        with urlopen(f"{site}model") as answer:
            self.ranges = json.load(answer)["ranges"]
        screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        browser.get(site)
        self.until(lambda: self.drawn() > 0)

    def until(self, condition):
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, "the page did not follow in time"
            time.sleep(0.02)

    def js(self, script, *arguments):
        return self.browser.execute_script(script, *arguments)

    def find(self, name):
        return self.browser.find_element("id", name)

    def drawn(self):
        return int(self.js("return document.body.dataset.drawn || 0"))

    def canvases(self):
        """What every picture shows, as text to compare."""
        return self.js("return [...document.querySelectorAll('.view')].map("
                       "v => v.querySelector('canvas').toDataURL())")  # fmt: skip

    def changed(self, action):
        """Do something, wait for a picture of it; tell which views look different."""
        before, count = self.canvases(), self.drawn()
        action()
        self.until(lambda: self.drawn() > count)
        return [a != b for a, b in zip(before, self.canvases(), strict=True)]

    def pointer(self, x, y, click=False):
        """The mouse at a place of the map, in pixels from its centre."""
        from selenium.webdriver import ActionChains

        chain = ActionChains(self.browser, duration=0)
        chain.move_to_element_with_offset(self.find("map"), round(x), round(y))
        (chain.click() if click else chain).perform()

    def press(self, *keys):
        from selenium.webdriver import ActionChains

        ActionChains(self.browser).send_keys(*keys).perform()

    def sliders(self):
        values = self.js("return [...document.querySelectorAll('.dimension input')].map("
                         "s => [s.id.split('-')[1], s.value])")  # fmt: skip
        return np.array([float(value) for _, value in sorted(values, key=lambda v: int(v[0]))])

    def where(self, sample):
        """Where a sample is on the map, from its centre; the frame is that of map.js."""
        return self.js(
            """
            const [i, j] = ["across", "up"].map((id) => Number(document.getElementById(id).value));
            const map = document.getElementById("map"), [position, ranges] = arguments;
            const share = (q) => (position[q] - ranges[q][0]) / (ranges[q][1] - ranges[q][0]);
            const [width, height] = [map.clientWidth, map.clientHeight];
            return [46 + share(i) * (width - 56) - width / 2,
                    height - 40 - share(j) * (height - 50) - height / 2];
            """,
            small_model().latent_mean_[sample].tolist(),
            self.ranges,
        )


@pytest.fixture
def page(browser, site):
    return Page(browser, site)


def test_all_views_follow_the_pointer(page):
    assert "MRD · 40 samples · 4 views" in page.find("summary").text
    titles = [title.text for title in page.browser.find_elements("css selector", ".view h3")]
    assert [title.split()[0] for title in titles] == ["picture", "body", "blood", "spectrum"]
    page.pointer(-40, -30)
    assert any(page.changed(lambda: page.pointer(90, 60)))
    before = page.sliders()
    page.changed(lambda: page.pointer(-90, -60))
    across, up = (int(page.find(name).get_attribute("value")) for name in ("across", "up"))
    assert set(np.flatnonzero(page.sliders() != before)) == {across, up}
    page.changed(lambda: page.pointer(20, 20, click=True))  # holds
    held = page.sliders()
    page.pointer(70, 70)
    time.sleep(0.2)
    np.testing.assert_array_equal(page.sliders(), held)


def test_a_view_moves_with_its_own_dimensions_and_not_with_others(page):
    model = small_model()
    names = list(model.view_names_)
    for dimension in range(4):
        slider = page.find(f"dimension-{dimension}")

        def push(slider=slider):
            page.js("arguments[0].value = Number(arguments[0].min) * .3 + arguments[0].max * .7;"
                    "arguments[0].dispatchEvent(new Event('input'))", slider)  # fmt: skip

        moved = page.changed(push)
        for view, has_moved in zip(names, moved, strict=True):
            if model.relevance_.loc[view, dimension] > 0.05:
                assert has_moved, f"{view} did not move with dimension {dimension}"


def test_other_axes_are_chosen_and_never_the_same_twice(page):
    page.pointer(0, 0)
    shown = page.js("return document.getElementById('map').toDataURL()")
    across, up = page.find("across"), page.find("up")
    old = across.get_attribute("value"), up.get_attribute("value")
    page.js("arguments[0].value = arguments[1];"
            "arguments[0].dispatchEvent(new Event('change'))", across, old[1])  # fmt: skip
    assert (across.get_attribute("value"), up.get_attribute("value")) == (old[1], old[0])
    page.until(lambda: page.js("return document.getElementById('map').toDataURL()") != shown)
    other = next(str(q) for q in range(4) if str(q) not in old)
    page.js("arguments[0].value = arguments[1];"
            "arguments[0].dispatchEvent(new Event('change'))", up, other)  # fmt: skip
    before = page.sliders()
    page.changed(lambda: page.pointer(60, -60))
    assert set(np.flatnonzero(page.sliders() != before)) == {int(old[1]), int(other)}


def test_a_click_on_a_sample_goes_there_and_shows_its_own_data(page):
    number = 3  # has no blood
    page.pointer(*page.where(number), click=True)
    page.until(lambda: page.find("chip").is_displayed())
    name = page.find("chip-text").text
    chosen = list(small_views()["blood"].index).index(name.split()[1])
    assert name == f"sample s{chosen} · {'ab'[chosen % 2]}"
    np.testing.assert_allclose(page.sliders(), small_model().latent_mean_[chosen], atol=1e-3)
    beside = page.browser.find_element("css selector", ".image figure:nth-child(3)")
    page.until(beside.is_displayed)
    if chosen == number:
        assert "not observed" in page.browser.find_element("css selector", ".bars").text
    pixels = page.js(
        "const c = document.querySelectorAll('.image canvas')[2];"
        "return [...c.getContext('2d').getImageData(0, 0, 8, 8).data].filter((_, i) => i % 4 === 0)"
    )
    data = small_views()["picture"].to_numpy()
    expected = 255 * (data[chosen] - data.min()) / np.ptp(data)
    np.testing.assert_allclose(pixels, expected, atol=1.01)
    page.find("map").click()
    page.press("\ue00c")  # Escape
    page.until(lambda: not page.find("chip").is_displayed())


def test_keys_and_play_buttons_walk(page):
    page.js("document.getElementById('map').focus()")
    across = int(page.find("across").get_attribute("value"))
    before = page.sliders()[across]
    page.changed(lambda: page.press("\ue014"))  # right
    assert page.sliders()[across] > before
    page.press("\ue007")  # Enter takes the nearest sample
    page.until(lambda: page.find("chip").is_displayed())
    button = page.browser.find_element("css selector", ".dimension .play")
    count = page.drawn()
    button.click()
    page.until(lambda: page.drawn() > count + 5)
    assert button.get_attribute("aria-pressed") == "true"
    button.click()
    assert button.get_attribute("aria-pressed") == "false"


def test_the_uncertainty_of_the_position_can_be_left_out(page):
    def averages():
        return page.browser.find_element("css selector", ".image figure:nth-child(2)").text

    before, count = averages(), page.drawn()
    page.find("uncertain").click()
    page.until(lambda: page.drawn() > count)
    assert averages() != before


def test_time_turning_and_colours(browser):
    model = copy.copy(small_model())
    order = np.argsort(model.latent_mean_[:, 0])
    times = np.empty((40, 1))
    times[order, 0] = np.arange(40.0)
    model.when_ = When(times, np.zeros(40, int), (None,))
    with running(explore.app(model, {"spectrum": "5x2x3"})) as (host, port):
        page = Page(browser, f"http://{host}:{port}/")
        slider = page.find("time-slider")
        page.changed(lambda: page.js(
            "arguments[0].value = 7.5; arguments[0].dispatchEvent(new Event('input'))", slider
        ))  # fmt: skip
        halfway = model.latent_mean_[order[7:9]].mean(axis=0)
        np.testing.assert_allclose(page.sliders(), halfway, atol=1e-3)
        pixels = page.js("return [...document.querySelectorAll('.view')[3].querySelector('canvas')"
                         ".getContext('2d').getImageData(0, 0, 2, 5).data]")  # fmt: skip
        colours = model.inverse_transform(
            halfway[None], "spectrum", np.median(model.latent_std_, axis=0)
        ).reshape(5, 2, 3)
        data = small_views()["spectrum"].to_numpy()
        expected = np.clip(255 * (colours - data.min()) / np.ptp(data), 0, 255)
        np.testing.assert_allclose(np.reshape(pixels, (5, 2, 4))[..., :3], expected, atol=1.5)
        count = page.drawn()
        page.find("time-play").click()
        page.until(lambda: page.drawn() > count + 5)
        page.find("time-play").click()
        time.sleep(0.3)
        before = page.canvases()
        page.js("document.querySelector('.skeleton canvas').focus()")
        page.press("\ue014")
        page.until(lambda: page.canvases() != before)
        turned = [a != b for a, b in zip(before, page.canvases(), strict=True)]
        assert turned == [False, True, False, False]


def test_the_legend_names_the_colour(page):
    assert page.find("legend").text.split()[:3] == ["batch", "a", "b"]


def test_a_map_without_room_draws_nothing_and_comes_back(page, browser):
    browser.get_log("browser")
    show = "document.getElementById('map-card').style.display = arguments[0]"
    page.js(show, "none")
    time.sleep(0.3)  # the page is told of its new size
    page.js(show, "")
    blank = "return new Set(document.getElementById('map').getContext('2d').getImageData(" \
            "60, 60, 200, 200).data).size"  # fmt: skip
    page.until(lambda: page.js(blank) > 5)
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []


def test_phones_light_dark_and_nothing_from_elsewhere(browser, site):
    browser.get_log("performance")
    browser.get_log("browser")
    shades = set()
    for width in (390, 1000, 1400):
        for theme in ("light", "dark"):
            feature = {"name": "prefers-color-scheme", "value": theme}
            browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
            page = Page(browser, site, width, 844)
            assert page.js("return document.documentElement.scrollWidth") <= width
            shades.add(page.js("return getComputedStyle(document.body).backgroundColor"))
    assert len(shades) == 2
    page.find("theme").click()
    assert page.js("return document.documentElement.dataset.theme") == "light"
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
    asked = [entry["message"] for entry in browser.get_log("performance")
             if '"Network.requestWillBeSent"' in entry["message"]]  # fmt: skip
    assert asked
    assert all(site in message for message in asked)
