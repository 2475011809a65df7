"""Numerics: second moments, searches over subsets of features, folds and resamples. Imports no other room."""

from ._arrays import (
    BLOCK_ELEMENTS,
    Array,
    as_numbers,
    check_reconstructed,
    check_spread,
    check_values,
    check_weights,
    extremes,
    index,
    is_foreign,
    like,
    memory_limit,
    namespace,
    row_blocks,
    significant,
    take_rows,
    to_dense,
    to_numpy,
)
from ._batches import Batches, batch_report, check_batch, read_batches
from ._containers import Container, container_of
from ._dual_gram import DualGram
from ._exact_search import MAX_SUBSETS, exact_search
from ._factors import FactorModel, fit_factors
from ._folds import (
    HeldOut,
    byte_order,
    dense_rows,
    fold_moments,
    hold_out_each,
    in_own_order,
    merged,
    own_moments,
    row_folds,
    row_hashes,
    sorted_features,
    sorted_samples,
    split_moments,
)
from ._forward_search import (
    EXHAUSTED,
    ROUNDING,
    TIE,
    TRUST,
    absolute_ridge,
    open_columns,
)
from ._gram import Gram, column_products
from ._inverse import INDEPENDENT, inverse_factors, pseudo_inverse, refined_product
from ._kept_samples import KeptSamples, kept_samples
from ._leave_one_out import LeaveOneOutState, leave_one_out_error
from ._leave_one_out_search import exchange_leave_one_out, forward_leave_one_out
from ._missing import (
    GaussianModel,
    fit_gaussian,
    fit_gaussian_pieces,
    gaussian_of_moments,
    is_too_much,
    takes_long,
    work_of_gaps,
)
from ._moments import Moments, normalised_moments
from ._refits import Refit, centred, mean_square, refit_errors
from ._resampled_moments import ResampledMoments
from ._resampling import (
    Resample,
    as_splitter,
    check_cv,
    held_out_splits,
    resamples,
    seed_sequence,
    splits_of,
    units,
)
from ._roles import Roles, column_roles, count_and_sum, expect_bound, least_squares_map, loss_bound
from ._rules import Rules, Undecided
from ._search_device import (
    exchange_each,
    exchange_search,
    forward_search,
    forward_searches,
    forward_with_each,
    in_lock_step,
    keep_paths,
    losses_each,
    map_errors,
    order_each,
    order_within,
    parts_in_memory,
)
from ._set_stability import nogueira, stability_interval, wilson_interval
from ._shared_rows import factor_of, share_rows, stays_thin
from ._single_search import SinglePrecision
from ._sketch import SketchedMoments, exact_columns, exact_roles, sketch_size
from ._splitters import BlockKFold, Bootstrap, ComplementaryPairs, Resampler, Subsample, time_blocks
from ._stream_moments import (
    add_to_folds,
    split_parts,
    stream_columns,
    stream_extremes,
    stream_moments,
    stream_splits,
)
from ._streams import Stream, open_table, summed
from ._subset_search import best_swap
from ._sums import Room
from ._swap_state import SwapState
from ._tables import (
    Features,
    check_columns,
    check_unique,
    feature_names,
    in_memory,
    joined,
    read_parts,
    take_features,
)
from ._threads import MANY_FEATURES, Together, begun, one_thread, side_by_side
from ._unit_search import greedy_order, search_units
from ._unit_state import UnitProblem
