"""Requests of the page, read with suspicion: what does not fit is refused."""

import json
from typing import Any

import numpy as np
from jaxtyping import Float
from starlette.exceptions import HTTPException
from starlette.requests import Request

LARGEST_BODY = 64 * 1024


async def read_json(request: Request) -> dict[str, Any]:
    """The JSON object that a request carries."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise refused("the request is not of type application/json")
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > LARGEST_BODY:
            raise refused(f"the request is larger than {LARGEST_BODY} bytes")
    try:
        content = json.loads(body, parse_constant=_no_constant)
    except (ValueError, RecursionError) as wrong:
        raise refused(f"the request is not valid JSON: {wrong}") from wrong
    if not isinstance(content, dict):
        raise refused("the request is not a JSON object")
    return content


def position_of(
    content: dict[str, Any], ranges: Float[np.ndarray, "Q 2"]
) -> Float[np.ndarray, " Q"]:
    """``position``: a finite number per latent dimension, within its range."""
    values = content.get("position")
    if not isinstance(values, list) or len(values) != len(ranges):
        raise refused(f"position must be a list of {len(ranges)} numbers")
    for dimension, (value, (low, high)) in enumerate(zip(values, ranges.tolist(), strict=True)):
        slack = 1e-3 * (high - low)  # the page rounds
        if type(value) not in (int, float) or not low - slack <= value <= high + slack:
            raise refused(f"dimension {dimension} must be from {low:g} to {high:g}")
    return np.clip(np.array(values, dtype=np.float64), ranges[:, 0], ranges[:, 1])


def axes_of(content: dict[str, Any], n_dimensions: int) -> tuple[int, int]:
    """``axes``: two latent dimensions."""
    values = content.get("axes")
    if not isinstance(values, list) or len(values) != 2:
        raise refused("axes must be a list of two dimensions")
    for value in values:
        if type(value) is not int or not 0 <= value < n_dimensions:
            raise refused(f"an axis must be a dimension from 0 to {n_dimensions - 1}")
    return values[0], values[1]


def flag_of(content: dict[str, Any], name: str) -> bool:
    """A true or false, false if absent."""
    value = content.get(name, False)
    if not isinstance(value, bool):
        raise refused(f"{name} must be true or false")
    return value


def refused(why: str) -> HTTPException:
    """The answer to what cannot be answered."""
    return HTTPException(400, why)


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no number")
