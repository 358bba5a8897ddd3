"""What becomes of every command of a page: run as it is or in a small size, run by another test, or not run."""

SAME = ""  # run as the page has it
FEW = "--replicas 2 --bootstrap 2"

# Small sizes of commands that pages have in several forms, which run once.
ALLOCATION = "evenhand reproduce allocation --figure 2a --rounds 4 --replicas 1"
COURT = "evenhand reproduce court --out out/court --rounds 60 --replicas 1"
FEW_ARMS = "evenhand reproduce concave-rewards --arms 3 --arms 4 --outcomes 5 --rounds 10 --replicas 1"
SQUARE = "evenhand reproduce square-cbwk --out out/square-cbwk --replicas 2 --orders 1"

# By command: words that are put behind it, of which the last of two options counts. A value with a program in front is
# run in place of the command.
RUN = {
    # experiments, in sizes that take seconds
    "evenhand reproduce --list": SAME,
    "evenhand reproduce --list court": SAME,
    "evenhand reproduce allocation": ALLOCATION,
    "evenhand reproduce allocation --figure 2a": ALLOCATION,
    "evenhand reproduce allocation --figure 2c --figure 2d --replicas 5": "--rounds 2 --replicas 1",
    "evenhand reproduce concave-convex --world arms --rounds 100000": "--rounds 64 --replicas 1 --instances 1",
    "evenhand reproduce concave-convex --world disc --rounds 16000 --replicas 4": "--rounds 64 --replicas 1",
    "evenhand reproduce concave-convex --world knapsacks --rounds 16000 --replicas 8": "--rounds 64 --replicas 1",
    "evenhand reproduce concave-rewards": "--rounds 10 --replicas 1 --outcomes 5",
    "evenhand reproduce concave-rewards --arms 50 --arms 200 --out out/concave-rewards": FEW_ARMS,
    "evenhand reproduce court": COURT,
    "evenhand reproduce court --replicas 100 --out out/court": COURT,
    "evenhand reproduce lessons": "--rounds 40 --replicas 1",
    "evenhand reproduce small-budgets": "--rounds 100 --replicas 1",
    "evenhand reproduce square-cbwk": SQUARE,
    "evenhand reproduce square-cbwk --out out/square-cbwk": SQUARE,
    "evenhand sweep examples/sweep.toml --out out/sweep --jobs 2": SAME,
    # logs, on rows that are drawn
    "evenhand assign customers.csv --problem examples/email.toml --learn-from hillstrom.csv --holdout 0.1"
    " --out assigned.csv": SAME,
    "evenhand assign customers.csv --problem examples/email.toml --learn-from hillstrom.csv --out assigned.csv": SAME,
    "evenhand assign customers.csv --problem examples/email.toml --learn-from hillstrom.csv --out assigned.csv --json"
    "": SAME,
    "evenhand curve hillstrom.csv --problem examples/email.toml": SAME,
    "evenhand curve hillstrom.csv --problem examples/email.toml --tolerance 0.02 --out out/curve": SAME,
    'evenhand curve hillstrom.csv --problem examples/email.toml --over "email gap by zip_code, at most"'
    " --budgets 6": SAME,
    "evenhand draft --schema": SAME,
    "evenhand replay hillstrom.csv --problem examples/email.toml --policy pgd,resolving --rates 0.2,0.3 --jobs 2"
    " --out out/several --resume": "--replicas 2 --bootstrap 0",
    "evenhand replay hillstrom.csv --problem examples/email.toml --replicas 20 --out out/email": FEW,
    "evenhand replay hillstrom.csv --problem half.toml --replicas 10 --bootstrap 10 --out out/half": FEW,
    "evenhand replay hillstrom.csv --problem half.toml --replicas 2 --bootstrap 2": SAME,
    "evenhand value hillstrom.csv --problem examples/email.toml --for-whom --out out/value": SAME,
    "evenhand rules hillstrom.csv --problem examples/email.toml --depth 2": SAME,
    'evenhand value hillstrom.csv --problem examples/email.toml --rule "mens where recency < 4; else none"': SAME,
    # lists of parts, and first steps
    "evenhand new": "evenhand new shop --decide 'none, call' --known 'age 18..99' --maximize 'sales 0 to 9'"
    " --limit 'calls 30: call 1' --cases 100",
    'evenhand systems --for "budgets, learned costs, parity"': SAME,
    "evenhand systems": SAME,
    "evenhand systems LastFM": SAME,
    "evenhand systems bayesian_logistic": SAME,
    "evenhand systems resolving": SAME,
    # measurements
    "python -m benchmarks.convex dimensions": "12 1",
    "python -m benchmarks.convex gamma 0": "1 1 6400",
    "python -m benchmarks.convex mixture": "200",
    "python -m benchmarks.convex requests 2000 2": "python -m benchmarks.convex requests 200 1 2",
    "python -m benchmarks.convex sets": "100",
    "python -m benchmarks.leases": "400 2",
    "python -m benchmarks.live_batches 100000": "python -m benchmarks.live_batches 50",
    "python -m benchmarks.live_batches 20000 URL ...": "python -m benchmarks.live_batches 50 sqlite:///batches.db",
    "python -m benchmarks.live_cold 1000000": "python -m benchmarks.live_cold 5000",
    "python -m benchmarks.live_corrections 100000 1000": "python -m benchmarks.live_corrections 2000 20",
    "python -m benchmarks.live_pairs 12000": "python -m benchmarks.live_pairs 64",
    "python -m benchmarks.live_restart 100000": "python -m benchmarks.live_restart 200",
    "python -m benchmarks.live_size 5000 1": "python -m benchmarks.live_size 20 1",
    "python -m benchmarks.live_size 50000": "python -m benchmarks.live_size 20 1",
    "python -m benchmarks.live_seals 1000000 100000": "python -m benchmarks.live_seals 6000 6000",
    "python -m benchmarks.plans": "2000",
    "python -m benchmarks.wide": "20",
    "python -m tests.allowances": "1 1",
    "python -m tests.batch_costs 32": "python -m tests.batch_costs 2 40",
    "python -m tests.averages": "1 1",
    "python -m tests.budget_worlds 5000 0": "python -m tests.budget_worlds 2 0",
    "python -m tests.delays 32": "python -m tests.delays 2 10",
    "python -m tests.described_worlds": "1 220",
    "python -m tests.drift_worlds": "2 400 slow",
    "python -m tests.drift_worlds budget": "2 400 slow",
    "python -m tests.floors": "2 2",
    "python -m tests.growth_worlds": "2 300",
    "python -m tests.holdouts 0 1 2": "python -m tests.holdouts 0 --rounds 200",
    "python -m tests.live.schedules 100000": "python -m tests.live.schedules 4",
    "python -m tests.change_worlds baseline": "200 2",
    "python -m tests.change_worlds changes": "400 2",
    "python -m tests.change_worlds logs": "100 2",
    "python -m tests.many_worlds": "1 60 20",
    "python -m tests.null_arms": "2 200",
    "python -m tests.profiles": "2 4",
    "python -m tests.wide_worlds": "2 40",
    "python -m tests.offline.coverage 2000": "python -m tests.offline.coverage 3",
    "python -m tests.offline.estimator_errors 200": 'python -m tests.offline.estimator_errors 2 "30 actions, 900 rows"',
    "python -m tests.offline.rule_values 400": "python -m tests.offline.rule_values 2 200",
    "python -m tests.offline.six_worlds 200": "python -m tests.offline.six_worlds 2",
    "python -m tests.offline.regimes 500": 'python -m tests.offline.regimes 2 "300 rows"',
    "python -m tests.offline.replay_errors 150": "python -m tests.offline.replay_errors 2 2000",
    "python -m tests.offline.units 400": "python -m tests.offline.units 3",
    "python examples/completions.py 5": "python examples/completions.py 1",
    "python examples/widths.py 40 1 10": "python examples/widths.py 2 40",
}

# By command: the test that runs it.
SHOWN = "tests/documents/test_output.py::test_the_demo_prints_what_the_first_page_shows"
USES = "tests/documents/test_gallery.py::test_a_use_runs_and_draws"
ELSEWHERE = {
    "evenhand demo": SHOWN,
    "make demo": SHOWN,
    "evenhand problem sqlite:///out/email.db > email.toml": "tests/live/campaigns/test_problem_files.py"
    "::test_it_is_printed_edited_and_switched_to",
    "evenhand warm": "tests/cli/test_ahead_of_time.py::test_a_service_finds_all_that_it_needs",
    "evenhand reproduce allocation --figure 2a --data DIR": "tests/experiments/test_allocation.py"
    "::test_listeners_and_artists_are_a_section_of_their_own",
    "evenhand reproduce fair-ranking --data DIR --part constraints --model bayesian --rounds 50000 --replicas 10":
    "tests/experiments/test_fair_ranking.py::test_constraints_are_measured_beside_the_optimum",
    'evenhand reproduce fair-ranking --data DIR --items 2k --part trade-off --objective "gini welfare" --rounds 100000'
    " --replicas 1": "tests/experiments/test_fair_ranking.py::test_utility_is_measured_against_inequality_and_drawn",
    'evenhand reproduce fair-ranking --data DIR --part objectives --objective "eq. 2" --rounds 5000000 --resume'
    " --out out/ranking": "tests/experiments/test_fair_ranking.py"
    "::test_systems_are_measured_on_every_objective_and_drawn",
    **dict.fromkeys(("docker compose -f deploy/compose.yaml up --build --detach --wait",
                     "docker compose -f deploy/compose.yaml --profile backup run --rm backup"),
                    "tests/live/http/test_deploy.py::test_compose_decides_in_postgresql"),
    "make bench-peers": "tests/test_peers.py::test_a_tiny_run_without_peers",
    "python -m benchmarks.peers rounds batches": "tests/test_peers.py::test_a_tiny_run_without_peers",
    "python -m tests.live.restores 1000": "tests/live/campaigns/test_restores.py"
    "::test_random_restores_enter_no_outcome_of_a_lost_decision",
    "python -m tests.notebooks": "tests/notebooks/test_notebooks.py::test_a_notebook_runs_and_shows_what_is_stored",
    **dict.fromkeys(("python -m tests.tables NAME", 'python -m tests.tables NAME "COMMAND"'),
                    "tests/documents/test_tables.py::test_what_a_command_prints_is_stored_and_stored_again"),
    "python -m tests.optima": "tests/optima/test_optima.py::test_the_page_shows_a_share_where_a_recipe_accepts_a_world",
    "python -m tests.optima calibrate": "tests/optima/test_optima.py::test_the_stated_share_is_reached",
    **{f"python examples/gallery/{use}": USES for use in
       ("ads.py", "ads.py 20 0.30", "court.py", "emails.py", "emails.py 5", "gpus.py", "jobs.py", "playlists.py",
        "router.py", "trial.py")},
}  # fmt: skip

# By command: a line of .ci/run or of .ci/packages, which run it.
IN_CI = {
    "make check": "make -j 2 packages check",
    "make docs": "make -j 2 lint docs",
    "make lint": "make -j 2 lint",
    "pip install .": "uv build",
}

# By command: why nothing runs it.
NOT_RUN = {
    "evenhand reproduce": "asks for an experiment, see tests/experiments/test_papers.py",
    "ENV NUMBA_CACHE_DIR=/kernels": "a line of a Dockerfile",
    "RUN evenhand warm && chmod -R a+rwX /kernels": "a line of a Dockerfile",
    "python -m benchmarks.live_attacks 2000 1 4": "mounts a small disk and fills it, which not every machine allows",
    "make bench": "measures for minutes; tests/test_benchmarks.py loads its modules",
    "make test": "a part of `make check`",
    "pip install --upgrade '.[live]'": "`.ci/packages` installs the extra `all`, which contains it",
    "python -m benchmarks.peers_rewards DATA": "tunes another package for minutes; tests/test_benchmarks.py loads it",
    "python -m benchmarks.kernels": "measures for minutes; tests/test_benchmarks.py loads its modules",
    **{f"pip install '{what}'": "`.ci/packages` installs the extra `all`, which contains it" for what in
       (".[live]", ".[plot,data]", ".[plot]", "evenhand[client]", "evenhand[dask]", "evenhand[postgresql]")},
}  # fmt: skip
