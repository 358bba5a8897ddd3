"""What only `make check` runs: all else is in `make test`, which tells a newcomer in minutes that it works.

`make test` has the contracts of all parts, a path per verb of the command line, the examples of docstrings, and the
tests against references that are quick. It has no browser, no process of a server and no PostgreSQL. What is listed
here, or marked `slow`, compiles much, runs for long, draws much, or tries one behaviour under many circumstances that
another file tests under usual ones.
"""

from __future__ import annotations

from collections.abc import Iterable

_LISTED = """
choices/test_allocate.py::test_arms_of_equal_gain_are_drawn_as_the_plan_mixes_them
choices/test_allocate.py::test_prices_go_on_only_by_decisions_that_count
choices/test_allocate.py::test_stated_chances_of_one_are_those_of_every_draw
choices/test_allocate.py::test_users_who_look_alike_are_drawn_for_an_arm_with_little_room
choices/test_allocate.py::test_arms_that_look_alike_are_drawn_evenly_by_each_user
choices/test_fair_learn.py
choices/test_random_lists.py::test_luck_is_spent_on_lists_in_proportion_to_their_probability
choices/test_random_lists.py::test_the_product_of_the_places_is_how_often_a_list_is_drawn
choices/test_top_k.py::test_equal_gains_are_drawn_as_the_plan_mixes_them_in_any_order_of_the_candidates
choices/test_top_k.py::test_lists_come_with_the_stated_chances_in_any_order_of_the_candidates
documents/test_python.py::test_what_is_shown_is_what_runs
environments/test_instances.py
environments/test_matching.py::test_fast_normal_numbers_are_normal_and_a_replica_alone_has_the_same
experiments/test_square_cbwk.py
experiments/test_sweep_file.py::test_the_command_prints_a_row_per_cell_and_writes_them
experiments/test_sweep_file.py::test_settings_of_recipes_vary_as_those_of_the_environment
goals/test_hard_budget.py::test_no_total_is_ever_exceeded_whatever_costs_turn_out_to_be
goals/test_hard_budget_loaded.py::test_a_loaded_state_never_exceeds_the_total_of_its_policy
goals/test_hard_spans.py::test_no_span_is_ever_exceeded
goals/test_mirrors.py::test_regret_is_within_the_bound_of_the_theorem
goals/test_resolving_lists.py::test_a_budget_is_used_up_evenly_and_never_overspent_whoever_is_absent
goals/test_resolving_lists.py::test_floors_and_budgets_of_known_chances_reach_the_linear_program
live/test_against.py live/test_archives.py live/test_audit_in_parallel.py live/test_browser.py live/test_busy.py
live/test_clipped.py live/test_commits.py live/test_copies.py
live/test_corrections.py::test_a_storm_is_learned_a_little_at_every_request
live/test_corrections.py::test_folds_of_corrections_cost_no_more_than_one_and_a_half_of_the_log
live/test_crowds.py live/test_doors.py live/test_erasing.py live/test_faults.py live/test_frozen.py
live/test_going_on.py live/test_heads.py live/test_http_clock.py live/test_http_erasing.py
live/test_http_life.py live/test_http_security.py live/test_kept_problem.py live/test_learning_beside.py
live/test_leases.py::test_a_kill_at_any_write_neither_loses_nor_doubles live/test_lines.py live/test_postgres.py
live/test_postgres_failures.py live/test_routers.py live/test_runs.py live/test_runs_of_lives.py
live/test_same_as_simulated.py live/test_schedules.py live/test_schemas.py live/test_several.py
live/test_snapshots.py live/test_sqlite.py live/test_switched_files.py live/test_switching.py
live/test_switching_beside.py live/test_tally_kept.py live/test_taught.py live/test_upkeep.py
live/test_why.py::test_the_outcomes_that_were_expected_are_those_of_the_worth_without_a_bonus
live/test_why.py::test_the_parts_add_up_to_the_difference_of_worths
malformed/test_asked_of_logs.py malformed/test_rounds.py
models/test_aggregation.py::test_the_loss_is_that_of_the_best_expert_plus_a_constant_for_every_sequence
models/test_bayesian_bilinear.py::test_it_needs_no_width_to_come_near_the_optimum
models/test_fading.py::test_exploration_neither_dies_nor_goes_beyond_that_of_a_model_without_data
models/test_memories.py models/test_optimistic_draw.py::test_draws_are_uniform_in_the_ellipsoid_of_the_widths
models/test_oracles.py::test_the_regret_of_gradient_steps_grows_no_faster_than_a_root
models/test_oracles.py::test_the_regret_of_newton_steps_grows_like_a_logarithm
numerics/test_evidence.py::test_a_fixed_point_maximises_the_evidence_alone_where_data_outweigh_what_is_believed
numerics/test_evidence.py::test_estimated_noise_and_spread_are_right_on_data_from_the_prior
numerics/test_likelihood.py::test_a_warm_start_after_a_tenth_more_data_takes_few_passes
numerics/test_simplex.py::test_without_ties_few_arms_have_a_chance_and_neither_order_nor_units_matter
objectives/test_convex_accuracy.py
offline/test_aims.py offline/test_bandit_feedback.py offline/test_bands.py offline/test_context_plans.py
offline/test_delta.py offline/test_sifting.py::test_the_optimum_of_the_whole_list
offline/test_frozen.py offline/test_learned_costs.py offline/test_whom.py
optima/test_optima.py::test_a_recipe_that_refuses_says_what_it_needs
planning/test_optimistic_program.py planning/test_plain_first.py planning/test_price_mixture.py
planning/test_shared_arms.py
problem/test_constraints.py::test_no_code_asks_which_kind_a_constraint_a_set_or_a_goal_is
recipes/test_bwcr_sets.py::test_an_optimistic_program_may_take_either_side recipes/test_factors.py
recipes/test_holdout.py::test_both_sides_are_reported_as_their_plays_say
recipes/test_holdout.py::test_probabilities_are_floored_exact_and_paid_for recipes/test_ignorance.py
recipes/test_knapsacks.py::test_hard_budgets_are_never_exceeded_on_any_instance recipes/test_own_constraints.py
recipes/test_pgd.py::test_budgets_are_kept_on_average_and_help_is_shared_alike
recipes/test_pgd.py::test_without_parity_help_is_not_shared_alike
recipes/test_rankings.py::test_fees_are_never_exceeded_in_any_replica recipes/test_units_of_sides.py
recipes/test_rankings.py::test_factors_and_their_products_take_the_same_actions_under_constraints
recipes/test_within.py
replay/test_analyst.py::test_commands_print_what_the_page_shows
replay/test_checks.py::test_replays_say_what_is_wrong_at_their_top
replay/test_factors.py::test_the_revenue_of_a_replay_is_sales_times_the_prices_of_their_rows
replay/test_pages.py
replay/test_replay.py::test_a_concave_objective_with_constraints
replay/test_replay.py::test_a_recipe_that_needs_constraints_gives_way_where_there_are_none
replay/test_replay.py::test_several_outcomes_and_a_learned_budget
replay/test_spans.py::test_an_allowance_is_kept_on_every_day_of_every_run
replay/test_several.py replay/test_span_reports.py replay/test_standard_errors.py
sets/test_lq_distance.py
welfare/test_priced.py
test_after_horizon.py test_appending.py::test_a_better_offer_that_is_appended_is_found test_averages_in_spans.py
test_blocks.py test_blocks_of_plans.py test_books.py::test_a_trace_reads_exact_sums test_checkpoints.py
test_door.py::test_a_status_says_what_a_trace_says
test_exact_sums.py::test_ten_million_additions_of_a_tenth_are_a_million
test_floors_in_spans.py::test_days_reach_their_floors_in_the_mean_and_the_report_says_so test_kernel_cache.py
test_catalogue.py::test_no_text_speaks_of_rows_or_papers_by_numbers_that_no_reader_has
test_comparison.py::test_pictures_of_comparisons_and_sweeps_have_no_overlaps
test_fits.py::test_no_part_is_explained_by_the_number_of_a_row
test_layers.py::test_no_modules_import_each_other
test_pages_in_a_browser.py test_peers.py test_pictures.py test_refund_ledger.py test_units.py
test_units_of_kinds.py
"""
ONLY_CHECK = frozenset(_LISTED.split())
SERVERS = frozenset({"server", "url", "postgresql"})  # fixtures and parameters of tests that need PostgreSQL


def is_only_checked(nodeid: str, needs: Iterable[object]) -> bool:
    """Whether only `make check` runs a test, by its name, and by its fixtures and parameters."""
    path, _, name = nodeid.removeprefix("tests/").partition("::")
    names = {path, f"{path}::{name.partition('[')[0]}"}
    return bool(names & ONLY_CHECK) or any(isinstance(z, str) and z.lower() in SERVERS for z in needs)
