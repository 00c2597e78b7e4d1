"""Record the animated picture of the explorer; needs Chromium and its driver.

python docs/assets/explorer.py
"""

import io
import threading
import time
import warnings
from pathlib import Path

import numpy as np
from PIL import Image
from selenium import webdriver
from selenium.webdriver import ActionChains
from sklearn.datasets import load_digits

from manyviews import MRD, Search
from manyviews.explore import app
from manyviews.explore import server as serving

FRAMES, SIZE, SHOWN = 24, (1000, 860), 720


def main() -> None:
    """Fit, serve, walk a circle over the map and save what the browser shows."""
    digits = load_digits(n_class=5)
    views = {"upper": digits.data[:250, :32], "lower": digits.data[:250, 32:]}
    search = Search(n_restarts=1, max_iter=150)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MRD(6, n_inducing=30, scaling="view", search=search, random_state=0).fit(views)
    shapes = {"upper": "4x8", "lower": "4x8"}
    page = app(model, labels=digits.target[:250].astype(str), shapes=shapes)
    listening = serving.listen("127.0.0.1", 0)
    server = serving.server(page)
    threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True).start()
    host, port = listening.getsockname()
    frames = film(f"http://{host}:{port}/")
    server.should_exit = True
    path = Path(__file__).with_name("explorer.webp")
    frames[0].save(
        path, save_all=True, append_images=frames[1:], duration=180, loop=0, quality=70, method=6
    )
    print(f"{path}: {path.stat().st_size / 1000:.0f} kB")


def film(address: str) -> list[Image.Image]:
    """Pictures of the page while the pointer walks."""
    options = webdriver.ChromeOptions()
    for flag in ("--headless=new", "--no-sandbox", f"--window-size={SIZE[0]},{SIZE[1]}"):
        options.add_argument(flag)
    browser = webdriver.Chrome(options=options)
    browser.get(address)
    time.sleep(8)
    box = browser.find_element("id", "map")
    width, height = box.size["width"], box.size["height"]
    frames = []
    for angle in np.linspace(0, 2 * np.pi, FRAMES, endpoint=False):
        x, y = 0.22 * width * np.cos(angle), 0.25 * height * np.sin(2 * angle)
        ActionChains(browser, duration=0).move_to_element_with_offset(
            box, round(x), round(y)
        ).perform()
        time.sleep(0.7)
        shot = Image.open(io.BytesIO(browser.get_screenshot_as_png())).convert("RGB")
        pointer(shot, box, x, y)
        shot = shot.resize(
            (SHOWN, round(SHOWN * shot.height / shot.width)), Image.Resampling.LANCZOS
        )
        frames.append(shot)
    browser.quit()
    return frames


def pointer(
    shot: Image.Image, box: "webdriver.remote.webelement.WebElement", x: float, y: float
) -> None:
    """Draw the pointer, which screenshots lack."""
    from PIL import ImageDraw

    cx = box.location["x"] + box.size["width"] / 2 + x
    cy = box.location["y"] + box.size["height"] / 2 + y
    arrow = [(0, 0), (0, 17), (4, 13), (7, 19), (10, 18), (7, 12), (12, 12)]
    ImageDraw.Draw(shot).polygon(
        [(cx + a, cy + b) for a, b in arrow], fill="black", outline="white"
    )


if __name__ == "__main__":
    main()
