"""Numerics: second moments, searches over subsets of features, folds and resamples. Imports no other room."""

from ._arrays import Array, float64, index, is_foreign, like, namespace, significant, to_dense, to_numpy
from ._blocks import BLOCK_ELEMENTS, memory_limit, row_blocks, take_rows
from ._checks import as_numbers, check_spread, check_values, check_weights, extremes
from ._exact_search import ExactResult, exact_search
from ._folds import HeldOut, fold_moments, hold_out_each, merged, row_hashes, split_moments
from ._gram import DualGram, Gram, pseudo_inverse, refined_product
from ._interrupts import may_stop_short, whole_fits
from ._kept_samples import KeptSamples, kept_samples
from ._leave_one_out import LeaveOneOutState, exchange_leave_one_out, forward_leave_one_out, leave_one_out_error
from ._loss_bound import loss_bound
from ._moments import Moments
from ._normalised import normalised_moments
from ._resampled_moments import ResampledMoments
from ._resampling import (
    Bootstrap,
    ComplementaryPairs,
    Resample,
    Resampler,
    Subsample,
    as_splitter,
    check_cv,
    resamples,
    seed_sequence,
    splits_of,
    units,
)
from ._roles import Roles, column_roles
from ._set_stability import nogueira, nogueira_difference, stability_interval, wilson_interval
from ._sorted_samples import byte_order, dense_rows, in_own_order, sorted_features, sorted_samples
from ._subset_search import EXHAUSTED, TIE, best_swap, exchange_search, forward_search, open_columns
from ._swap_state import ROUNDING, TRUST, SwapState

__all__ = [
    "BLOCK_ELEMENTS",
    "EXHAUSTED",
    "ROUNDING",
    "TIE",
    "TRUST",
    "Array",
    "Bootstrap",
    "ComplementaryPairs",
    "DualGram",
    "ExactResult",
    "Gram",
    "HeldOut",
    "KeptSamples",
    "LeaveOneOutState",
    "Moments",
    "Resample",
    "ResampledMoments",
    "Resampler",
    "Roles",
    "Subsample",
    "SwapState",
    "as_numbers",
    "as_splitter",
    "best_swap",
    "byte_order",
    "check_cv",
    "check_spread",
    "check_values",
    "check_weights",
    "column_roles",
    "dense_rows",
    "exact_search",
    "exchange_leave_one_out",
    "exchange_search",
    "extremes",
    "float64",
    "fold_moments",
    "forward_leave_one_out",
    "forward_search",
    "hold_out_each",
    "in_own_order",
    "index",
    "is_foreign",
    "kept_samples",
    "leave_one_out_error",
    "like",
    "loss_bound",
    "may_stop_short",
    "memory_limit",
    "merged",
    "namespace",
    "nogueira",
    "nogueira_difference",
    "normalised_moments",
    "open_columns",
    "pseudo_inverse",
    "refined_product",
    "resamples",
    "row_blocks",
    "row_hashes",
    "seed_sequence",
    "significant",
    "sorted_features",
    "sorted_samples",
    "split_moments",
    "splits_of",
    "stability_interval",
    "take_rows",
    "to_dense",
    "to_numpy",
    "units",
    "whole_fits",
    "wilson_interval",
]
