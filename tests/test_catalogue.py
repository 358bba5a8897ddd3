from evenhand.core.catalogue import KINDS, catalogue


def test_systems_are_found_in_the_code():
    systems = catalogue()
    found = {(s.id, s.name): s for s in systems}
    for identifier, name, kind, module in (
        ("K1", "pgd", "recipe", "evenhand.recipes.pgd"),
        ("K2", "pgd_adaptive", "recipe", "evenhand.recipes.pgd_adaptive"),
        ("K4", "mixed_oracle", "recipe", "evenhand.recipes.mixed_oracle"),
        ("K5", "Parity", "constraint", "evenhand.problem.constraints.parity"),
        ("K6", "Logistic", "model", "evenhand.models.logistic"),
        ("K6", "Ridge", "model", "evenhand.models.ridge"),
        ("K8", "Court", "environment", "evenhand.environments.court"),
        ("X3", "HardBudget", "goal", "evenhand.goals.hard_budget"),
        ("C7", "Linear", "objective", "evenhand.objectives.linear"),
    ):
        s = found[identifier, name]
        assert (s.kind, s.module) == (kind, module)


def test_every_system_has_a_source_a_kind_and_a_place_in_the_order():
    systems = catalogue()
    assert all(s.source and s.kind in KINDS.values() for s in systems)
    assert [(s.id[:1], int(s.id[1:])) for s in systems] == sorted((s.id[:1], int(s.id[1:])) for s in systems)
    assert len({(s.id, s.kind, s.name, s.module) for s in systems}) == len(systems)
