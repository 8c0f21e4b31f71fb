"""Figures of whole systems: how far estimated ones are from true ones, and whether they rank the systems alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from qa_scoring.errors import parameter_error
from qa_scoring.statistics.columns import number_column


@dataclass(frozen=True)
class SystemsComparison:
    """Estimated figures of systems against true ones.

    Args:
        rmse: Root mean square error over the systems.
        absolute_error_std: Standard deviation of the absolute errors, with n in the denominator: rmse² is this squared
            plus the squared mean absolute error.
        kendall_tau: Kendall's tau-b of the two rankings, in [-1, 1]; None for one system, or where one side gives all
            systems the same figure.
        p_value: Two-sided p of tau-b against no association: exact up to 33 systems without ties, else asymptotic;
            None without a tau-b.
        systems: Number of systems.
    """

    rmse: float
    absolute_error_std: float
    kendall_tau: float | None
    p_value: float | None
    systems: int


def compare_systems(estimated: ArrayLike, true: ArrayLike) -> SystemsComparison:
    """Return RMSE ± standard deviation and Kendall's tau-b of estimated against true figures of systems.

    Args:
        estimated: Shape (systems,): a figure of each system as estimated, such as its accuracy by a judge.
        true: Shape (systems,): the same figure by people, on the same scale.

    Returns:
        The comparison.

    Raises:
        InputError: The lengths differ, there is no system, or a figure is not finite.

    Example:
        >>> comparison = compare_systems([0.7, 0.8, 0.9], [0.6, 0.8, 1.0])
        >>> round(comparison.rmse, 4), round(comparison.absolute_error_std, 4), comparison.kendall_tau
        (0.0816, 0.0471, 1.0)

    Source:
        Vu & Moschitti 2021, AVA, table 5, which prints RMSE ± σ without a formula for σ; here it is the
        standard deviation of the absolute errors. Kendall 1945 (tau-b).
    """
    from scipy import stats  # over a second to import

    judged = number_column("estimated", estimated)
    if not len(judged):
        raise parameter_error("estimated", "a column of numbers, one per system, with at least one", estimated)
    people = number_column("true", true, like=("estimated", len(judged)))
    errors = np.abs(judged - people)
    rankable = bool(np.ptp(judged) > 0.0 and np.ptp(people) > 0.0)
    tau, p_value = map(float, stats.kendalltau(judged, people)) if rankable else (None, None)
    return SystemsComparison(
        rmse=float(np.sqrt(np.mean(errors**2))),
        absolute_error_std=float(errors.std()),
        kendall_tau=tau,
        p_value=p_value,
        systems=len(judged),
    )
