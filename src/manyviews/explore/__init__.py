"""A local web page to walk in the latent space of a fitted model."""

from ..errors import MissingExtraError

try:
    from .server import app, serve
except ModuleNotFoundError as missing:
    if (missing.name or "").partition(".")[0] not in {"starlette", "uvicorn"}:
        raise
    raise MissingExtraError(
        f"the page needs the package {missing.name}: pip install 'manyviews[explore]'"
    ) from missing

__all__ = ["app", "serve"]
