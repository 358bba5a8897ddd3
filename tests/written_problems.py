"""Random problems of all kinds that a problem file can state, and the files that state them."""

from dataclasses import MISSING, fields, is_dataclass
from datetime import date

import numpy as np

import evenhand as eh
from evenhand import sets
from evenhand.core.registry import snake
from evenhand.logs import toml
from evenhand.objectives import AlphaFair, GeneralizedGini, Linear
from evenhand.problem import Between, Cap, NeverWorse, Ratio, Traffic, Unit, Within

_KINDS = ("Budget", "Floor", "NeverWorse", "Parity", "Ratio", "Within")  # the order in which a file has them
_MONTHS = ("november", "december")


def draw(rng):
    """The arguments of a problem that may be refused, as any of its parts may not fit the others."""
    actions = tuple(f"act {i}" for i in range(rng.integers(2, 5)))
    groups = (eh.Groups("tier", {"free": 0.7, "pro": 0.3}), eh.Groups("area", ("north", "south", "far out")))
    clock = str(rng.choice(["rounds", "number", "dates"]))
    names = {"sale": "learned", "cost": "learned", "bill": "noisy", "fee": "known"}
    names = {n: k for n, k in names.items() if n in ("sale", "fee") or rng.random() < 0.7}
    outcomes = [_outcome(rng, name, kind, actions) for name, kind in names.items()]
    drawn = [_constraint(rng, list(names), clock) for _ in range(rng.integers(0, 5))]
    stated = {"subject_to": tuple(sorted(drawn, key=lambda c: _KINDS.index(type(c).__name__)))}
    if clock == "rounds":
        stated["horizon"] = Between(40, 90) if rng.random() < 0.2 else int(rng.integers(30, 200))
    else:
        stated |= {"since": "2026-11-20", "until": "2026-12-11"} if clock == "dates" else {"until": 20}
        per = str(rng.choice(["hour", "day"])) if clock == "dates" else 2
        shape = (1.0, 3.0) if rng.random() < 0.5 else ()
        closed = ("2026-11-26", date(2026, 12, 6)) if clock == "dates" and rng.random() < 0.5 else ()
        cases, memory = float(rng.integers(1, 9)), int(rng.integers(1, 5))
        stated["traffic"] = Traffic(cases, per=per, shape=shape, memory=memory, closed=closed)
    if clock == "dates" and rng.random() < 0.5:
        stated["zone"] = str(rng.choice(["Europe/Prague", "Asia/Tokyo"]))
    if rng.random() < 0.3:
        caps = [Cap("fee", at_most=float(rng.integers(3, 9)), within=7) for _ in range(rng.integers(0, 3))]
        sticky = None if caps and rng.random() < 0.5 else 14.0
        window = 7.0 if clock == "dates" and rng.random() < 0.5 else None
        stated["unit"] = Unit("who", caps=caps, sticky=sticky, attribution=window)
    if rng.random() < 0.2:
        stated["withdrawn"] = actions[-1:]
    return {"actions": actions, "outcomes": tuple(outcomes), "maximize": _objective(rng, list(names)),
            "groups": groups} | stated  # fmt: skip


def _outcome(rng, name, kind, actions):
    if kind == "known":
        return eh.Outcome(name, known={a: float(rng.integers(-1, 4)) for a in actions})
    free = actions[:1] if rng.random() < 0.6 else ()
    ends = {"low": float(rng.choice([0.0, 0.0, -0.5])), "high": float(rng.choice([1.0, 2.5]))}
    fallback = float(rng.choice([0.0, 0.5])) if rng.random() < 0.3 else None
    if kind == "noisy":
        return eh.Outcome(name, **ends, mean={a: 0.4 for a in actions if a not in free}, fallback=fallback)
    if rng.random() < 0.2:
        paid = [a for a in actions if a not in free]
        ends = {"low": dict.fromkeys(paid, ends["low"]), "high": {a: float(rng.uniform(0.6, 3)) for a in paid}}
    return eh.Outcome(name, **ends, free=free, fallback=fallback, times="fee" if rng.random() < 0.1 else None)


def _objective(rng, names):
    kind = rng.integers(0, 8)
    if kind == 0:
        return Linear({"sale": 1.0, "fee": float(-rng.uniform(0.1, 1))})
    if kind == 1 and len(names) > 2:
        return AlphaFair(tuple(names[:2]), alpha=0.5, offset=2.0)
    return GeneralizedGini(("sale", "fee")) if kind == 2 else "sale"


def _constraint(rng, names, clock):
    """A constraint of any kind, on everybody or by group, over the horizon or in spans of time."""
    kind = int(rng.choice(11, p=[0.36, 0.04, 0.04, 0.04, 0.04, 0.04, 0.16, 0.06, 0.12, 0.04, 0.06]))
    name, amount = str(rng.choice(names)), float(np.round(rng.uniform(4, 90), 2))
    by = str(rng.choice(["tier", "area"])) if rng.random() < 0.4 else None
    per = {"rounds": 10, "number": 4.0, "dates": str(rng.choice(["day", "week", "month"]))}[clock]
    hard = [None, False, True][int(rng.integers(0, 3))]
    whole = {"total": amount} if rng.random() < 0.6 else {"rate": amount / 100}
    each = {"total": amount, "per": per}
    if kind <= 5 and by == "tier":
        name = f"{name} tier=pro"
    if kind == 0 and by == "area":
        total = [amount, {"north": amount}, {"north": amount, "far out": [(0, 90, amount)]}][int(rng.integers(0, 3))]
        return eh.Budget(name, total=total if clock == "rounds" else amount, by="area", hard=hard)
    if kind == 0:
        return eh.Budget(name, **(whole if rng.random() < 0.5 else each), hard=hard)
    if kind == 1:
        return eh.Budget(name, **each, carry=True, hard=hard)
    if kind == 2:
        return eh.Budget(name, **each, window=2, hard=hard)
    if kind == 3:
        months = dict(zip(_MONTHS, (amount, amount / 2), strict=True))
        return eh.Budget(name, **({"total": months, "per": "month"} if clock == "dates" else each), hard=hard)
    if kind in (4, 5):
        ends = {
            "rounds": (0, 20, 300),
            "number": (0, 7.5, 20),
            "dates": ("2026-11-20", "2026-11-25T12:00", "2026-12-11"),
        }
        start, middle, end = ends[clock]
        total = ((start, middle, amount), (middle, end, amount / 2))
        return eh.Budget(name, total=total, hard=hard) if kind == 4 else eh.Floor(name, total=total, by=by)
    if kind == 6:
        small = {"rate": float(rng.uniform(0.0, 0.2))}
        return eh.Floor(name, **(small if rng.random() < 0.6 else {"total": amount / 20, "per": per}), by=by)
    if kind == 7:
        return eh.Parity(
            name, by=by or "tier", tolerance=float(rng.uniform(0, 0.5)), per=per if rng.random() < 0.3 else None
        )
    if kind == 8:
        share = {"at_most" if rng.random() < 0.6 else "at_least": float(rng.uniform(0.2, 0.9))}
        of, over = (f"{name} tier=pro", name) if name == "sale" or rng.random() < 0.4 else (name, "sale")
        return Ratio(of, over=over, **share, by=by if of == name else None, per=per if rng.random() < 0.3 else None)
    if kind == 9:
        return NeverWorse("sale", than="fee", alpha=0.1, slack=5.0, action="act 1" if rng.random() < 0.5 else None)
    chosen = sets.Ball((0.4, 0.4), 0.9) if rng.random() < 0.5 else sets.Box((-1.0, -1.0), (0.9, 1.5))
    return Within(("sale", "fee"), chosen, norm="sup" if rng.random() < 0.3 else "euclidean")


def text(stated):
    """The problem file that states these arguments."""
    lines, tables = [], ["", "[action]", f"values = {_value(list(stated['actions']))}"]
    aim = stated["maximize"]
    linear = isinstance(aim, Linear)
    lines.append(f"maximize = {_value(dict(aim.weights) if linear else aim if isinstance(aim, str) else _part(aim))}")
    horizon = stated.get("horizon")
    if horizon is not None:
        pair = [horizon.earliest, int(horizon)] if isinstance(horizon, Between) else horizon
        lines.append(f"horizon = {_value(pair)}")
    lines += [f"{name} = {_value(stated[name])}" for name in ("since", "until", "zone", "withdrawn") if name in stated]
    if "traffic" in stated:
        lines.append(f"traffic = {_value(_fields(stated['traffic']))}")
    if "unit" in stated:
        unit = _fields(stated["unit"])
        lines.append(f"unit = {_value(unit | {'caps': [_fields(cap) for cap in unit.get('caps', ())]})}")
    for o in stated["outcomes"]:
        tables += ["", f"[outcomes.{toml.key(o.name)}]"]
        found = {"known": o.known} if o.is_known else {"range": _range(o)}
        found |= {n: getattr(o, n) for n in ("mean", "fallback", "times") if getattr(o, n) is not None}
        found |= {"free": o.free} if o.free else {}
        tables += [f"{name} = {_value(z)}" for name, z in found.items()]
    for g in stated["groups"]:
        tables += ["", f"[groups.{g.name}]", f"shares = {_value(g.shares if g.known else 'estimated')}"]
    for c in stated["subject_to"]:
        tables += ["", f"[[{snake(type(c).__name__)}]]", *(f"{n} = {_value(z)}" for n, z in _fields(c).items())]
    return "\n".join([*lines, *tables, "", "[policy]", 'name = "resolving"']) + "\n"


def _range(o):
    ends = o.low, o.high
    return {a: [z[a] for z in ends] for a in o.low} if isinstance(o.low, dict) else list(ends)


def _fields(part):
    """The fields of a part that are not as by default."""
    found = {f.name: (getattr(part, f.name), f.default) for f in fields(part) if f.init and f.name != "_"}
    return {name: z for name, (z, default) in found.items() if default is MISSING or z != default}


def _part(part):
    return {"kind": snake(type(part).__name__)} | _fields(part)


def _value(found):
    """A value as TOML writes it: parts by their kind, tuples and arrays as lists, numbers in full."""
    if is_dataclass(found):
        return _value(_part(found))
    if isinstance(found, dict):
        return "{ " + ", ".join(f"{toml.key(n)} = {_value(z)}" for n, z in found.items()) + " }"
    if isinstance(found, list | tuple | np.ndarray):
        return "[" + ", ".join(map(_value, found)) + "]"
    if isinstance(found, bool | np.bool_):
        return str(bool(found)).lower()
    return (
        repr(found.item() if isinstance(found, np.generic) else found)
        if not isinstance(found, str)
        else toml.value(found)
    )
