"""The page's server: a few routes on loopback, everything local."""

import contextlib
import math
import warnings
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from ..errors import ExposedWarning
from ..escaping import visible
from .addresses import LOOPBACK, allowed_hosts, is_loopback, listen
from .requests import axes_of, flag_of, position_of, read_json, refused
from .scene import Scene
from .views import Shapes

STATIC = Path(__file__).parent / "static"
SECURITY = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


def app(
    model: Any, shapes: Shapes = None, labels: Any = None, hosts: Sequence[str] = LOOPBACK
) -> Starlette:
    """The web application that shows a model.

    Parameters
    ----------
    shapes, labels
        As for `serve()`.
    hosts : sequence of str
        Names by which the page may be called; requests for others are refused, so that no
        other site can have its own name point here (DNS rebinding).
    """
    scene = Scene(model, shapes, labels)
    scene.generate(scene.mean[0], True)  # compile before the first visitor comes
    scene.background(scene.mean[0], (0, len(scene.ranges) - 1))

    async def page(request: Request) -> Response:
        return FileResponse(STATIC / "index.html")

    async def describe(request: Request) -> Response:
        return JSONResponse(sayable(scene.describe()))

    async def points(request: Request) -> Response:
        return _numbers(scene.points())

    async def generate(request: Request) -> Response:
        content = await read_json(request)
        position = position_of(content, scene.ranges)
        return _numbers(scene.generate(position, flag_of(content, "uncertain")))

    async def background(request: Request) -> Response:
        content = await read_json(request)
        axes = axes_of(content, len(scene.ranges))
        return _numbers(scene.background(position_of(content, scene.ranges), axes))

    async def sample(request: Request) -> Response:
        number = request.path_params["number"]
        if not 0 <= number < len(scene.samples):
            raise refused(f"there are {len(scene.samples)} samples")
        return _numbers(scene.sample(number))

    return Starlette(
        routes=[
            Route("/", page),
            Route("/model", describe),
            Route("/points", points),
            Route("/generate", generate, methods=["POST"]),
            Route("/background", background, methods=["POST"]),
            Route("/samples/{number:int}", sample),
            Mount("/static", StaticFiles(directory=STATIC)),
        ],
        middleware=[
            Middleware(SecurityHeaders),
            Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts), www_redirect=False),
        ],
        exception_handlers={HTTPException: _say_why},
    )


def serve(
    model: Any,
    host: str = "127.0.0.1",
    port: int = 0,
    open_browser: bool = True,
    shapes: Shapes = None,
    labels: Any = None,
) -> None:
    """Show a model in the browser until Ctrl-C.

    Parameters
    ----------
    model : fitted estimator
        `MRD`, `BayesianGPLVM` or `MRDClassifier`.
    host : str
        Address to listen at. Other than loopback, everyone who reaches this machine can see
        the data.
    port : int
        0 takes a free one.
    open_browser : bool
        Whether to open the page in the default browser.
    shapes : str, Picture or dict by view, optional
        ``{"face": "192x168", "pose": "skeleton"}``; see
        `manyviews.plot.shapes.choose_picture`.
    labels : sequence or Series by sample, optional
        Classes or numbers that colour the samples.
    """
    listening = listen(host, port)
    with listening:
        hosts = allowed_hosts(host)
        application = app(model, shapes, labels, hosts)
        if not is_loopback(host):
            warnings.warn(
                f"the page is served at {host}: everyone who can reach this machine can see the "
                "data",
                ExposedWarning,
                stacklevel=2,
            )
        name = f"[{host}]" if ":" in host else host
        address = f"http://{name}:{listening.getsockname()[1]}/"
        print(f"exploring at {address}  (Ctrl-C ends)", flush=True)
        if open_browser:
            webbrowser.open(address)
        with contextlib.suppress(KeyboardInterrupt):  # the server has shut down and passes it on
            server(application).run(sockets=[listening])


def server(application: Starlette) -> uvicorn.Server:
    """A quiet server."""
    return uvicorn.Server(uvicorn.Config(application, log_level="warning", server_header=False))


class SecurityHeaders:
    """Every answer tells the browser to load nothing from elsewhere, and to keep nothing."""

    def __init__(self, app: Any):
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async def send_with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                extra = [(name.encode(), value.encode()) for name, value in SECURITY.items()]
                message["headers"] = [*message["headers"], *extra]
            await send(message)

        await self.app(scope, receive, send_with_headers)


def sayable(content: Any) -> Any:
    """What JSON can say and a page can show: no broken text, no number that is none."""
    if isinstance(content, dict):
        return {visible(name): sayable(value) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return [sayable(value) for value in content]
    if isinstance(content, str):
        return visible(content)
    if isinstance(content, float) and not math.isfinite(content):
        return None
    return content


def _numbers(content: bytes) -> Response:
    return Response(content, media_type="application/octet-stream")


async def _say_why(request: Request, wrong: Exception) -> Response:
    assert isinstance(wrong, HTTPException)
    return JSONResponse({"error": wrong.detail}, wrong.status_code, wrong.headers)
