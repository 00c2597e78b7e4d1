"""How fast the page of ``manyviews explore`` follows the pointer: a view of 32,256 pixels.

Mean and std at a position as uncertain as a sample's, of a model with M = 120 and Q = 14 as for
the Yale faces (the data are random): computed, asked for over HTTP, and in headless Chromium
(without a GPU) from the pointer event to the frame that shows it. One move every 100 ms.
"""

import http.client
import json
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from manyviews import MRD, Search, Stage
from manyviews.explore import server as serving
from manyviews.explore.scene import Scene

from .report import Report, Row
from .timing import Times

PAUSE = 0.1
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
)  # fmt: skip


def run(quick: bool) -> list[Report]:
    shape, n_moves = ((48, 42), 10) if quick else ((192, 168), 60)
    report = Report(
        f"page of a model with views of {shape[0]} x {shape[1]} pixels, M=120 Q=14",
        target="the page should follow within 50 ms",
    )
    for n_views in (1, 2):
        model = fitted(n_views, shape[0] * shape[1])
        told = "x".join(map(str, shape))
        scene = Scene(model, told)
        rng = np.random.default_rng(0)

        def anywhere(scene: Scene = scene, rng: Any = rng) -> np.ndarray:
            near = scene.mean[rng.integers(len(scene.mean))]
            return near + 0.01 * rng.uniform(-1, 1, near.shape)

        def generate(scene: Scene = scene, anywhere: Any = anywhere) -> None:
            scene.generate(anywhere(), True)

        what = f"{n_views} view{'s' if n_views > 1 else ''}"
        report.rows.append(row(f"{what}: computed", timed(generate, n_moves)))
        with live(model, told) as address:
            asked = timed(lambda a=address, p=anywhere: ask(a, p()), n_moves)
            report.rows.append(row(f"{what}: over HTTP", asked))
            report.rows.append(in_browser(f"{what}: pointer to paint", address, n_moves))
    return [report]


def fitted(n_views: int, n_pixels: int) -> MRD:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((192, 3 + n_views))
    views = {
        f"view {k}": np.tanh(x[:, [0, 1, 2, 3 + k]] @ rng.standard_normal((4, n_pixels)))
        + 0.1 * rng.standard_normal((192, n_pixels))
        for k in range(n_views)
    }
    stages = (Stage("lbfgs", 10),)
    return MRD(
        14, 120, search=Search(n_restarts=1, stages=stages), signal_check="off", random_state=0
    ).fit(views)


def timed(action: Callable[[], None], n: int) -> Times:
    times = Times()
    for _ in range(n + 2):
        wall, cpu = time.perf_counter(), time.process_time()
        action()
        times.wall.append(time.perf_counter() - wall)
        times.cpu.append(time.process_time() - cpu)
        time.sleep(PAUSE)
    return Times(times.wall[2:], times.cpu[2:])


def row(what: str, times: Times) -> Row:
    ms = 1e3 * np.array(times.wall)
    found = {"what": what, "ms": float(np.median(ms)), "ms, 95 %": float(np.quantile(ms, 0.95))}
    return found | ({"CPU ms": 1e3 * times.median_cpu()} if times.cpu else {})


@contextmanager
def live(model: MRD, shape: str) -> Iterator[tuple[str, int]]:
    listening = serving.listen("127.0.0.1", 0)
    server = serving.server(serving.app(model, shape))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    yield listening.getsockname()
    server.should_exit = True
    thread.join()
    listening.close()


def ask(address: tuple[str, int], position: np.ndarray) -> None:
    connection = http.client.HTTPConnection(*address)
    content = json.dumps({"position": position.tolist(), "uncertain": True})
    connection.request("POST", "/generate", content, {"content-type": "application/json"})
    answer = connection.getresponse()
    content_back = answer.read()
    connection.close()
    if answer.status != 200:
        raise RuntimeError(content_back.decode())


def in_browser(what: str, address: tuple[str, int], n_moves: int) -> Row:
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    try:
        from selenium import webdriver
    except ImportError:
        return {"what": what, "remark": "selenium is not installed"}
    if program is None or driver is None:
        return {"what": what, "remark": "chromium and chromedriver are not on the PATH"}
    options = webdriver.ChromeOptions()
    options.binary_location = program
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
        try:
            browser.set_window_size(1400, 900)
            browser.get(f"http://{address[0]}:{address[1]}/")
            return row(what, Times(moves(browser, webdriver.ActionChains, n_moves)))
        finally:
            browser.quit()


def moves(browser: Any, chain: Any, n_moves: int) -> list[float]:
    """Seconds from a pointer event to the frame that shows its pictures."""
    while not browser.execute_script("return document.body.dataset.drawn"):
        time.sleep(0.1)
    browser.execute_script(
        "window.seen = [];"
        "new PerformanceObserver((list) => list.getEntries().forEach((e) => seen.push(e.duration)))"
        ".observe({ type: 'measure' })"
    )
    field = browser.find_element("id", "map")
    for k in range(n_moves + 3):
        turn = 2.0 * np.pi * k / n_moves
        x, y = 120 * np.cos(turn), 90 * np.sin(2.0 * turn)
        chain(browser, duration=0).move_to_element_with_offset(field, round(x), round(y)).perform()
        time.sleep(PAUSE)
    time.sleep(1.0)
    return [ms / 1e3 for ms in browser.execute_script("return seen")[3:]]
