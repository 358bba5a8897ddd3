"""A small new part of every kind, each in the file that a newcomer would add, and its example."""

# By kind, as in the table of CONTRIBUTING.md: the file here, what it exports, and the entry of the list of examples.
NEWCOMERS = {
    "model": ("same_for_all", "SameForAll", "m.SameForAll(n_features=3, n_outcomes=2)"),
    "goal": ("fixed_price", "FixedPrice", '(g.FixedPrice(rows=select(EVERYTHING, ("hours",)), unit=2.0), EVERYTHING)'),
    "choice": ("play_last", "PlayLast", "c.PlayLast()"),
    "environment": ("coins", "Coins", "e.Coins(chances=(0.2, 0.7), horizon=60)"),
    "objective": ("on_target", "OnTarget", 'o.OnTarget(("a", "b"))'),
    "constraint": ("at_most", "AtMost", '"AtMost": lambda u, p=1: (c.AtMost("cents", level=0.3 * u[2] * p),)'),
    "set": ("orthant", "Orthant", '"Orthant": lambda h, c: s.Orthant((0.05 * h, 0.1 * c))'),
    "recipe": ("in_turn", "in_turn", '"in_turn": [(r.in_turn(COURT.problem, m.NullModel(n_features=5)), COURT)]'),
    "oracle": ("first_fit", "FirstFit", '"first_fit": (w.FirstFit(), True, 0.0)'),
    "curve": ("square_root", "SquareRoot", '"square_root": w.SquareRoot()'),
    "store": ("process", "process", '"process": lambda request, n: f"process://{request.node.name}{n}"'),
    "estimator": ("clipped_ips", "ClippedIPS", "e.ClippedIPS(cap=3.0)"),
    "section of the page": ("queue", "queue", '"queue": "0 of 1 rounds wait"'),
}
