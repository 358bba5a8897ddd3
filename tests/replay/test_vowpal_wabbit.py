"""Logs of Vowpal Wabbit, text and JSON, are the table that they would be as CSV."""

import gzip
import json
from csv import writer

import numpy as np
import pytest

import evenhand as eh
from evenhand.cli import main
from evenhand.core.errors import InvalidInput
from evenhand.logs.sources import table_of
from evenhand.replay import draft, read_log
from tests.replay.test_sources import bits

HEADER = ("user.age", "user.town", "user.new", "action", "probability", "cost")
CHANCES = {"n": (0.5, 0.3, 0.2), "s": (0.2, 0.3, 0.5), "": (0.25, 0.5, 0.25)}


def rows(count=600):
    """Ages of which some are missing, which is 0; towns of which some are missing; actions from 1 on."""
    rng = np.random.default_rng(4)
    for _ in range(count):
        town, new = str(rng.choice(list(CHANCES))), int(rng.random() < 0.4)
        age = round(float(rng.uniform(20, 80)), 3) if rng.random() < 0.9 else 0.0
        action = int(rng.choice(3, p=CHANCES[town])) + 1
        cost = -float(rng.random() < 0.2 + 0.2 * action * (age < 40)) * 1.5
        yield age, town, new, action, CHANCES[town][action - 1], cost


def shared(age, town, new):
    """The features of a row as text, without what is 0 or missing."""
    return "|user" + f" age:{age}" * (age > 0) + f" town={town}" * (town != "") + " new" * new


def as_csv(path, lines, header=HEADER):
    with path.open("w", newline="") as file:
        writer(file).writerows([header, *lines])
    return path


def as_lines(lines):
    return "".join(f"{a}:{cost}:{p} {shared(*x)}\n" for *x, a, p, cost in lines)


def as_blocks(lines, head="shared "):
    label = "0:{}:{} "
    each = (
        (f"{head}{shared(*x)}\n" if head else "")
        + "".join((label.format(cost, p) if i == a else "") + f"|Item topic={i}\n" for i in (1, 2, 3))
        for *x, a, p, cost in lines
    )
    return "\n".join(each) + "\n"


def event(x, slots=(), **rest):
    (age, town, new), tag = x, rest.pop("tag", "")
    context = {"user": {"age": age, "new": bool(new), "none": None} | ({"town": town} if town else {})}
    context |= {"_multi": [{"_tag": f"{tag}{i}" * bool(tag), "Item": {"topic": i}} for i in (1, 2, 3)]}
    return json.dumps(rest | {"Version": "1", "c": context | ({"_slots": slots} if slots else {})}) + "\n"


def label(action, p, cost):
    found = {"_label_cost": cost, "_label_probability": p, "_label_Action": action, "_labelIndex": action - 1}
    return found | {"a": [action], "p": [p], "o": [{"v": -cost}]}


def as_json(lines):
    return "".join(event(x, EventId=f"e{i}", **label(a, p, cost)) for i, (*x, a, p, cost) in enumerate(lines))


@pytest.mark.parametrize("name", ["cb.vw", "adf.vw", "adf.log.gz", "a.dsjson", "a.json.gz", "parts"])
def test_every_format_has_the_bits_and_values_of_the_table(tmp_path, name):
    lines = list(rows())
    texts = {"cb": as_lines(lines), "adf": as_blocks(lines), "a": as_json(lines)}
    path = tmp_path / name
    if name == "parts":
        path.mkdir()
        (path / "0.vw").write_text(as_lines(lines[:250]))
        (path / "1.vw").write_text(as_lines(lines[250:]) + "1:0:x.y:z |\n")
    else:
        data = b"\n" * (2**15) * (name == "adf.vw") + texts[name.split(".")[0]].encode()
        path.write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    found = draft(path)
    assert found.open == ()
    assert "'cost' is minimised" in "".join(found.guessed)
    assert "range = [-1.5, 0]" in found.text
    toml, csv = found.write(tmp_path / "problem.toml"), as_csv(tmp_path / "log.csv", lines)
    one, other = read_log(csv, toml), read_log(path, toml)
    assert bits(one) == bits(other)
    assert len(other) == len(lines)
    mine, theirs = eh.value(csv, toml), eh.value(path, toml)
    assert mine.to_frame().equals(theirs.to_frame())
    if name == "parts":
        assert "first in line 351" in other.bad.messages()[0]


def test_commands_and_lists_take_it(tmp_path, capsys):
    lines = list(rows())
    (tmp_path / "a.vw").write_text(as_lines(lines))
    (tmp_path / "cases.vw").write_text("|user new\n" + "".join(f"{shared(*x)}\n" for *x, _, _, _ in lines[:49]))
    toml, out = tmp_path / "problem.toml", tmp_path / "list.csv"
    assert main(["draft", str(tmp_path / "a.vw"), "--out", str(toml)]) == 0
    example = [line.removeprefix("# ") for line in toml.read_text().splitlines()[-9:] if "# column" not in line]
    toml.write_text(toml.read_text() + "\n".join(line.removeprefix("#") for line in example[1:]))
    for command in ("curve", "rules"):
        assert main([command, str(tmp_path / "a.vw"), "--problem", str(toml)]) == 0
    cases = ["assign", str(tmp_path / "cases.vw"), "--learn-from", str(tmp_path / "a.vw")]
    assert main([*cases, "--problem", str(toml), "--out", str(out)]) == 0
    assert len(out.read_text().splitlines()) == 51
    assert "(minus cost) per case" in capsys.readouterr().out


def test_slots_are_rows_with_a_position_of_one_event(tmp_path):
    """The first slot may show 1 to 3, the second what is left; some events were dropped, and some have no label."""
    rng, lines, table = np.random.default_rng(5), [], []
    for i, (*x, a, p, cost) in enumerate(rows(300)):
        b, drop = [z for z in (1, 2, 3) if z != a][rng.integers(2)], 0.5 * x[2]
        outcomes = [{"_label_cost": cost, "_a": [a - 1, b - 1], "_p": [p, 1 - p]},
                    {"_label_cost": 0.0, "_a": b - 1, "_p": 0.5}]  # fmt: skip
        if i % 30 == 9:
            outcomes = [{}, {}]
        else:
            weight = 1 / (1 - drop)
            table += [[*x, s, s, f"e{i}", weight, *z] for s, z in ((1, (a, p, cost)), (2, (b, 0.5, 0.0)))]
        slots = [{"size": 1, "_id": "x"}, {"size": 2}]
        lines.append(event(x, slots, EventId=f"e{i}", pdrop=drop, _outcomes=outcomes))
    path = tmp_path / "a.dsjson"
    path.write_text("".join(lines) + '{"RewardValue": 1, "EventId": "e1"}\n')
    header = ("user.age", "user.town", "user.new", "slot.size", "position", "event_id", "weight", *HEADER[3:])
    found = draft(path)
    for line in ('cluster = "event_id"', 'weight = "weight"', 'categorical = ["user.town", "position"]',
                 'action = "drop"', 'cost = "drop"'):  # fmt: skip
        assert line in found.text
    toml = found.write(tmp_path / "problem.toml")
    one, other = read_log(as_csv(tmp_path / "log.csv", table, header), toml), read_log(path, toml)
    assert bits(one) == bits(other)
    assert one.encoded.clusters.count == other.encoded.clusters.count == 290
    assert np.array_equal(one.encoded.clusters.weights, other.encoded.clusters.weights)
    assert other.bad.messages() == ["1 row: no interaction that can be read (first in line 301)"]
    assert other.bad.dropped == {"action": 20}


def texts(path, *names):
    return [table_of(path).read({name: "the header"}).names(name).texts() for name in names]


def test_features_become_columns(tmp_path):
    """Scales, several names in a row, a feature of both kinds, one named like a column, and what an export escapes."""
    path = tmp_path / "a.vw"
    first, second = "1:2:.5 |u:2 a:1.5 b |w t=x t=y | cost:3 k=v", "2:1:.5 |u a:.5 a:1 c=1 | my%20t=a%3Ab k:2 my%20n:4"
    path.write_text(f"{first}\n\n{second}\n")
    features = ["u.a", "u.b", "w.t=x", "w.t=y", ".cost", "k", "u.c", "my t", "k:number", "my n"]
    assert table_of(path).header({}) == [*features, "action", "probability", "cost"]
    assert texts(path, *features, "cost") == [
        ["3", "1.5"], ["2", "0"], ["1", "0"], ["1", "0"], ["3", "0"], ["v", ""], ["", "1"], ["", "a:b"], ["0", "2"],
        ["0", "4"], ["2", "1"],
    ]  # fmt: skip
    path.write_text(
        event((30, "n", 1), _skipLearn=True, **label(1, 0.5, 7))
        + '{"c":{"a":[1,{"b":"x"},"y"],"d":true},"_label_cost":1,"_labelIndex":0,"_label_probability":1}\n'
    )
    assert texts(path, "user.new", "a.0", "a.b", "a", "d", "cost", "action") == [
        ["1", "0"], ["0", "1"], ["", "x"], ["", "y"], ["0", "1"], ["", "1"], ["", "1"],
    ]  # fmt: skip


def test_numbers_and_names_are_what_they_are_written_as(tmp_path):
    path = tmp_path / "a.vw"
    path.write_text("".join(f"{1 + i % 2}:{i % 3}:.5 | zip={100 + i % 7} x:{1 + i % 4 / 8:.3f}\n" for i in range(90)))
    assert 'categorical = ["zip"]' in draft(path).text
    assert 'numeric = ["x"]' in draft(path).text


def test_actions_have_their_tags_or_numbers_and_a_note_where_these_mislead(tmp_path):
    path, lines = tmp_path / "a.dsjson", list(rows(60))
    path.write_text("".join(event(x, tag="no ", **label(a, p, cost)) for *x, a, p, cost in lines))
    assert "actions are called by their tags, and features of their own are left out" in draft(path).guessed
    path = tmp_path / "a.vw"
    block = "0:{}:.5 'b |i x:{}\n'c |i x:2\n\n'b |i x:1\n0:2:.5 'c |i x:2\n\n"
    path.write_text("".join(block.format(i, 1) for i in range(30)))
    assert texts(path, "action") == [["b", "c"] * 30]
    path.write_text("".join(block.replace("'c", "").format(i, i) for i in range(30)))
    assert texts(path, "action") == [["1", "2"] * 30]
    assert "a number may stand for several" in "".join(draft(path).guessed)


def test_damaged_interactions_are_bad_rows_with_their_lines(tmp_path):
    lines = list(rows(300))
    toml = tmp_path / "problem.toml"
    (tmp_path / "a.vw").write_text(as_lines(lines))
    draft(tmp_path / "a.vw").write(toml)
    for name, text, where in (
        ("a.vw", as_lines(lines) + "1:0:.5 |user age:x\n", 301),
        ("a.vw", as_lines(lines) + "1:0 |user\n", 301),
        ("a.vw", as_lines(lines) + "1:0:.5\n", 301),
        ("a.vw", as_lines(lines) + "0:1:.5 |user\n", 301),
        ("a.vw", as_lines(lines) + "1:0:.5 2:0:.5 |user\n", 301),
        ("a.vw", as_lines(lines) + "1:0:.5 |user age:inf\n", 301),
        ("a.vw", as_blocks(lines) + "shared |\n\n", 1501),
        ("a.vw", as_blocks(lines) + "0:0:.5 |\n0:0:.5 |\n\n", 1501),
        ("a.json", as_json(lines) + '{"c": {"a": 1', 301),
        ("a.json", as_json(lines) + '{"c":' + '{"c":' * 10**5, 301),
        ("a.json", as_json(lines) + event((1, "n", 0), **label(1, 0.5, 0), pdrop=1), 301),
        ("a.json", as_json(lines) + event((1, "n", 0), **label(9, 0.5, 0)), 301),
        ("a.json", as_json(lines) + event((1e400, "n", 0), **label(1, 0.5, 0)), 301),
        ("a.json", as_json(lines) + event((1, "n", 0), [{}], _outcomes=[]), 301),
    ):
        (tmp_path / name).write_text(text)
        found = read_log(tmp_path / name, toml)
        told = f"1 row: no interaction that can be read (first in line {where})"
        assert (found.bad.messages(), len(found)) == ([told], 300), text[-60:]


def test_what_cannot_be_used_is_refused_in_a_sentence(tmp_path):
    path = tmp_path / "a.vw"
    many = "".join(f" w{i}" for i in range(900))
    for text, told in (
        ("shared |u a\n|i x\n|i y\n\n", "a.vw: expected labels, such as 2:-1:0.5, or _label_cost and others, got none"),
        (f"1:0:.5 |text{many}\n\n2:0:.5 |more{many}\n", "a.vw: expected at most 1,000 features, or a problem file that "
         "names those to use, got 1,800; the largest namespaces have 900 in 'text', 900 in 'more'"),
    ):  # fmt: skip
        path.write_text(text)
        with pytest.raises(InvalidInput) as refused:
            draft(path)
        assert str(refused.value) == told
    path.write_text("".join(f"{1 + i % 2}:1:.5 |more{many}\n2:x:.5 |text{many} b:{i % 5}\n" for i in range(50)))
    problem = {"minimize": "cost", "horizon": "log", "features": {"numeric": ["text.b"]},
               "action": {"column": "action", "values": ["1", "2"]}, "propensity": {"constant": 0.5},
               "outcomes": {"cost": {"range": [0, 1]}}}  # fmt: skip
    with pytest.raises(InvalidInput, match=r"50 rows: 'cost' is not .* \(first in line 2: 'x'\)"):
        read_log(path, problem)
