"""Where models run."""

from __future__ import annotations

import threading

from qa_scoring.errors import InputError, parameter_error

DEVICES = ("cuda", "mps", "cpu")
DTYPES = ("float32", "bfloat16", "float16")
LOADING = threading.RLock()
"""Held while a model is loaded: transformers fails when two threads import its parts at once."""


def choose_device(device: str | None) -> str:
    """Choose the device that a model runs on.

    Args:
        device: ``"cuda"``, ``"cuda:1"``, ``"mps"`` or ``"cpu"``; None takes the first of them that is there.

    Returns:
        The device's name for torch.

    Raises:
        InputError: There is no such device.

    Example:
        >>> choose_device("cpu")
        'cpu'
    """
    import torch

    available = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if device is None:
        return next(name for name in DEVICES if available[name])
    name, _, number = device.partition(":") if isinstance(device, str) else ("", "", "")
    if name not in DEVICES or (number and not number.isdecimal()):
        raise parameter_error("device", f"None or one of {', '.join(map(repr, DEVICES))}", device)
    if not available[name] or (name == "cuda" and int(number or 0) >= torch.cuda.device_count()):
        there = ", ".join(name for name in DEVICES if available[name])
        raise InputError(f"The device {device!r} is not there; this machine has {there}.")
    return device


def check_running(dtype: object, batch_size: object, max_length: object) -> None:
    """Validate how a model of torch is to be run.

    Args:
        dtype: None or one of ``DTYPES``.
        batch_size: None or at least 1.
        max_length: None or at least 8, in tokens.

    Raises:
        InputError: One of them is not that.

    Example:
        >>> check_running("float32", None, 128)
    """
    if dtype not in (None, *DTYPES):
        raise parameter_error("dtype", f"None or one of {', '.join(map(repr, DTYPES))}", dtype)
    for name, value, least in (("batch_size", batch_size, 1), ("max_length", max_length, 8)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < least):
            raise parameter_error(name, f"None or an integer of at least {least}", value)
