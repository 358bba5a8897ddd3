"""Command lines that cannot be run, as (arguments, field, phrase); {folder} is an empty folder of the test."""

DID = "did you mean"
REPLAY = ["replay", "{folder}/log.csv", "--problem", "{folder}/problem.toml"]
SMALL = ["reproduce", "court", "--replicas", "1", "--rounds", "60"]
CURVE = ["curve", "{folder}/log.csv", "--problem", "{folder}/problem.toml"]
LOST = ["{folder}/log.csv", "--problem", "{folder}/x.toml"]
SERVE = ["serve", "{folder}/none.toml", "--store", "sqlite:///{folder}/new/log.db"]

COMMANDS = {
    "an empty command": ([""], "COMMAND", "invalid choice"),
    "an unknown command": (["fly"], "COMMAND", "invalid choice: 'fly'"),
    "a command misspelt": (["rpelay"], "COMMAND", f"invalid choice: 'rpelay' ({DID} replay?)"),
    "an option for a command": (["--replay"], "--replay", "unrecognized"),
    "a shell misspelt": (["completion", "bahs"], "SHELL", f"({DID} bash?)"),
    "a kind misspelt": (["systems", "--kind", "recipes"], "--kind", f"({DID} recipe?)"),
    "a name and a kind": (["systems", "pgd", "--kind", "recipe"], "--kind", "not allowed with argument NAME"),
    "an unknown property": (["systems", "--for", "parrity"], "for", f"({DID} parity?)"),
    "no property": (["systems", "--for", " , "], "for", "expected words of budgets"),
    "an option misspelt": (["demo", "--repilcas", "3"], "--repilcas", f"({DID} --replicas?)"),
    "an option misspelt with its value": (["demo", "--sede=3"], "--sede=3", f"({DID} --seed?)"),
    "too many arguments": (["systems", "pgd", "ucb"], "ucb", "unrecognized"),
    "an option of another command": (["demo", "--bootstrap", "3"], "--bootstrap", "unrecognized"),
    "an option that is far off": (["demo", "--rounds", "3"], "--rounds 3", "unrecognized"),
    "a problem file that is not there": (SERVE, "none.toml", "expected a file that can be read"),
    "no problem file for a switch": ([*SERVE, "--switch"], "none.toml", "expected a file that can be read"),
    "no experiment": (["reproduce"], "EXPERIMENT", "required"),
    "an unknown experiment": (["reproduce", "nothing"], "EXPERIMENT", "invalid choice: 'nothing'"),
    "an experiment misspelt": (["reproduce", "cuort"], "EXPERIMENT", f"({DID} court?)"),
    "an unknown system": (["systems", "xyzzy"], "system", "from `evenhand systems`"),
    "a system misspelt": (["systems", "resolvng"], "system", f"({DID} resolving?)"),
    "a choice misspelt": (["reproduce", "square-cbwk", "--sweep", "hroizon"], "--sweep", "invalid choice"),
    "replicas in words": (["demo", "--replicas", "many"], "--replicas", "a whole number of at least 1"),
    "half a replica": (["demo", "--replicas", "0.5"], "--replicas", "a whole number of at least 1"),
    "no replicas": (["demo", "--replicas", "0"], "--replicas", "at least 1"),
    "replicas without a number": (["demo", "--replicas"], "--replicas", "expected one argument"),
    "too many replicas": (["demo", "--replicas", "1000000000000"], "replicas", "at most"),
    "too many rounds": (["reproduce", "court", "--rounds", "9" * 30], "", "at most"),
    "an endless number of rounds": (["reproduce", "court", "--rounds", "9" * 5000], "--rounds", "a whole number"),
    "rounds below 1": (["reproduce", "court", "--rounds", "0"], "--rounds", "at least 1"),
    "a seed in words": (["demo", "--seed", "luck"], "--seed", "invalid int value"),
    "a seed below 0": (["demo", "--seed", "-1"], "seed", "in [0, 2**64)"),
    "a seed beyond 64 bits": (["demo", "--seed", str(2**64)], "seed", "in [0, 2**64)"),
    "rounds below 0": (["reproduce", "allocation", "--rounds", "-3"], "--rounds", "of at least 0, got '-3'"),
    "jobs below 1": (["reproduce", "court", "--jobs", "0"], "--jobs", "at least 1"),
    "a million jobs": (
        ["reproduce", "court", "--jobs", "1000000", "--replicas", "1000000", "--rounds", "60"], "jobs", "at most",
    ),
    "a tolerance in words": (["reproduce", "court", "--tau", "small"], "--tau", "expected a number, got 'small'"),
    "a tolerance with a comma": (
        ["reproduce", "court", "--tau", "0,05"], "--tau", "write 0.05, with a decimal point; for several numbers",
    ),
    "a budget with a comma": ([*CURVE, "--at", "1,5"], "--at", "got '1,5'; write 1.5, with a decimal point; for sev"),
    "budgets in one option": ([*CURVE, "--at", "0.1,0.3"], "--at", "got '0.1,0.3'; for several numbers, repeat --at"),
    "a share with a comma": (
        ["assign", "c.csv", "--holdout", ",1"], "--holdout", "a number, got ',1'; write .1, with a decimal point",
    ),
    "a tolerance that is nan": (
        ["reproduce", "court", "--tau", "nan", "--replicas", "1", "--rounds", "60"], "Parity", "a finite number",
    ),
    "a tolerance below 0": (
        ["reproduce", "court", "--tau", "-1", "--replicas", "1", "--rounds", "60"], "Parity", "at least 0",
    ),
    "a folder below a file": ([*SMALL, "--out", "/dev/null/x"], "out", "Not a directory"),
    "a file for a folder": ([*SMALL, "--out", "{folder}/log.csv"], "out", "Not a directory"),
    "a folder that cannot be made": ([*SMALL, "--out", "/proc/none/x"], "out", "one that can be made"),
    "a folder that cannot be written to": ([*SMALL, "--out", "/proc"], "out", "a folder that can be written to"),
    "an endless folder": ([*SMALL, "--out", "{folder}/" + "x" * 5000], "out", "File name too long"),
    "to resume nothing": ([*SMALL, "--resume"], "resume", "a folder"),
    "to resume below a file": ([*SMALL, "--resume", "--out", "{folder}/log.csv"], "out", "Not a directory"),
    "a replay of nothing": (["replay"], "LOG.csv", "required"),
    "a replay without a problem": (["replay", "{folder}/log.csv"], "--problem", "required"),
    "a log that is not there": (
        ["replay", "{folder}/lgo.csv", "--problem", "{folder}/problem.toml"], "lgo.csv", "No such file",
    ),
    "a problem that is not there": (
        ["replay", *LOST], "x.toml", "No such file",
    ),
    "a folder for a log": (["replay", "{folder}", "--problem", "{folder}/problem.toml"], "log", "of one kind"),
    "a folder for a problem": (["replay", "{folder}/log.csv", "--problem", "{folder}"], "", "Is a directory"),
    "a device for a log": (["replay", "/dev/null", "--problem", "{folder}/problem.toml"], "null", "an empty file"),
    "log and problem exchanged": (
        ["replay", "{folder}/problem.toml", "--problem", "{folder}/log.csv"], "log.csv, line 1", "a TOML file",
    ),
    "a recipe misspelt": ([*REPLAY, "--policy", "resolvng"], "policy", f"({DID} resolving?)"),
    "a model for a recipe": ([*REPLAY, "--policy", "ridge"], "policy", "one of"),
    "a recipe that does not fit": ([*REPLAY, "--policy", "cab_ucb"], "policy: problem.subject_to", "no constraints"),
    "one resample": ([*REPLAY, "--bootstrap", "1"], "bootstrap", "at least 2"),
    "resamples below 0": ([*REPLAY, "--bootstrap", "-2"], "--bootstrap", "at least 0"),
    "too many resamples": ([*REPLAY, "--bootstrap", "1000000000"], "replicas + 3 bootstrap", "at most"),
    "too many shuffles": ([*REPLAY, "--replicas", "1000000000"], "replicas + 3 bootstrap", "at most"),
    "half a resample": ([*REPLAY, "--bootstrap", "0.5"], "--bootstrap", "a whole number"),
    "a seed of a replay": ([*REPLAY, "--seed", "-1"], "seed", "in [0, 2**64)"),
    "a file for a folder of a replay": ([*REPLAY, "--out", "{folder}/log.csv"], "out", "Not a directory"),
    "no problem of a replay into a new folder": (
        ["replay", *LOST, "--out", "{folder}/new"], "x.toml", "No such file",
    ),
    "no problem of a curve into a new folder": (
        ["curve", *LOST, "--out", "{folder}/new"], "x.toml", "No such file",
    ),
    "a rule of no action into a new folder": (
        ["value", *REPLAY[1:], "--rule", "letter", "--out", "{folder}/new"], "rule", "expected",
    ),
    "a replay written nowhere": ([*REPLAY, "--out", "/proc"], "out", "a folder that can be written to"),
}  # fmt: skip
