"""Optional packages: the one place that says how to install what is missing."""

from __future__ import annotations

import importlib
from importlib import metadata
from types import ModuleType

from qa_scoring.errors import MissingPackageError


def require(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import an optional module, or say which extra brings it.

    Args:
        module: Import name of the module.
        extra: The extra of this distribution that installs it.
        purpose: What needs it, for the message.

    Returns:
        The imported module.

    Raises:
        MissingPackageError: The module is not installed.

    Example:
        >>> require("json", extra="none", purpose="this example").__name__
        'json'
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingPackageError(
            f"{purpose} needs the package {module!r}, which is not installed. "
            f'Install it with: pip install "qa-scoring[{extra}]"',
            name=module,
        ) from error


def distribution_version(distribution: str) -> str:
    """Return the installed version of a distribution, for signatures.

    Args:
        distribution: Name on the package index.

    Returns:
        The version, or ``"unknown"`` for a module that was not installed as a distribution.

    Example:
        >>> distribution_version("no-such-distribution")
        'unknown'
    """
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "unknown"
