"""An example of every store: the URL of a new, empty one, given pytest's request and a number."""

from tests.live.servers import schema

STORES = {
    "memory": lambda request, n: "memory://",
    "sqlite": lambda request, n: f"sqlite:///{request.getfixturevalue('tmp_path')}/{n}.db",
    "postgresql": lambda request, n: schema(request.getfixturevalue("server"), f"contract{n}"),
}
