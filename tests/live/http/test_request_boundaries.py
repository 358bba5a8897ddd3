"""Where requests begin and end: nothing is read in two ways, whatever the pieces in which it comes."""

import socket
import time
from contextlib import suppress

import pytest

from tests.live.http_campaign import asked, events
from tests.polling import LONG
from tests.rows import for_each

HOST = b"Host: localhost\r\n"
GET = b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n"
BODY = b'{"id": 99}'
JSON = HOST + b"Content-Type: application/json\r\n"
CHUNKED = b"POST /cancel HTTP/1.1\r\n" + JSON + b"Transfer-Encoding: chunked\r\n"
CHUNKS = b"4\r\n" + BODY[:4] + b"\r\n6;a=b\r\n" + BODY[4:] + b"\r\n0\r\n\r\n"


def connected(client):
    line = socket.create_connection((client.base_url.host, client.base_url.port), timeout=LONG)
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return line


def rest(line):
    """All that a server says until it closes the connection."""
    found = b""
    while part := line.recv(65_536):
        found += part
    return found


def statuses(said):
    return [int(part[:3]) for part in said.split(b"HTTP/1.1 ")[1:]]


def until(line, number):
    """What a server says until so many answers are whole, by their statuses and bodies."""
    found = []
    data = b""
    while len(found) < number:
        head, _, more = data.partition(b"\r\n\r\n")
        size = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0]) if more else -1
        if 0 <= size <= len(more):
            found.append((int(head[9:12]), more[:size]))
            data = more[size:]
        else:
            data += line.recv(65_536)
    return found


def post(length):
    return b"POST /cancel HTTP/1.1\r\n" + JSON + b"Content-Length: " + length + b"\r\n\r\n" + BODY


def coded(value, version=b"1.1"):
    return CHUNKED.replace(b"chunked", value).replace(b"HTTP/1.1", b"HTTP/" + version) + b"\r\n" + CHUNKS


def first(line, host=HOST):
    return line + b"\r\n" + host + b"\r\n"


REFUSED = {
    "a length twice": post(b"10\r\nContent-Length: 10"),
    "two lengths that differ": post(b"10\r\nContent-Length: 11"),
    "a list of lengths": post(b"10, 10"),
    "a length with a sign": post(b"+10"),
    "a length with spaces": post(b"1 0"),
    "a length in another notation": post(b"0xa"),
    "a length with an underscore": post(b"1_0"),
    "no length after all": post(b""),
    "a length without end": post(b"9" * 30),
    "a length and chunks": CHUNKED + b"Content-Length: 10\r\n\r\n" + CHUNKS,
    "chunks and a length": post(b"10\r\nTransfer-Encoding: chunked"),
    "another encoding": coded(b"gzip"),
    "an encoding before chunks": coded(b"gzip, chunked"),
    "chunks in chunks": coded(b"chunked, chunked"),
    "chunks twice": CHUNKED + b"Transfer-Encoding: chunked\r\n\r\n" + CHUNKS,
    "an encoding like chunks": coded(b"xchunked"),
    "chunks by a control character": coded(b"\x0bchunked"),
    "chunks in a version without them": coded(b"chunked", b"1.0"),
    "a chunk that is longer than it says": CHUNKED + b"\r\n3\r\n" + BODY + b"\r\n0\r\n\r\n",
    "a chunk whose size is no number": CHUNKED + b"\r\n0xa\r\n" + BODY + b"\r\n0\r\n\r\n",
    "a chunk without CR": CHUNKED + b"\r\na\n" + BODY + b"\r\n0\r\n\r\n",
    "a chunk without end": CHUNKED + b"\r\n" + b"f" * 20 + b"\r\n" + BODY + b"\r\n0\r\n\r\n",
    "a space before a colon": post(b"10").replace(b"Length:", b"Length :"),
    "a name with a space": first(b"GET /healthz HTTP/1.1\r\nA B: 1"),
    "a header without a name": first(b"GET /healthz HTTP/1.1\r\n: 1"),
    "a header without a colon": first(b"GET /healthz HTTP/1.1\r\nabc"),
    "a NUL": first(b"GET /healthz HTTP/1.1\r\nA: \x00"),
    "a control character": first(b"GET /healthz HTTP/1.1\r\nA: \x7f"),
    "a CR in a value": first(b"GET /healthz HTTP/1.1\r\nA: 1\r2"),
    "a folded header": first(b"GET /healthz HTTP/1.1\r\nA: 1\r\n 2"),
    "a header folded by a tab": first(b"GET /healthz HTTP/1.1\r\nA: 1\r\n\t2"),
    "a folded protocol": first(b"GET /healthz HTTP/1.1\r\nConnection: upgrade\r\nUpgrade:\r\n h2c"),
    "a folded protocol at first": first(b"GET /healthz HTTP/1.1\r\nUpgrade:\r\n h2c\r\nConnection: upgrade"),
    "a folded encoding": CHUNKED.replace(b": chunked", b":\r\n chunked") + b"\r\n" + CHUNKS,
    "a space after the version": first(b"GET /healthz HTTP/1.1 "),
    "an unknown version": first(b"GET /healthz HTTP/1.2"),
    "the preface of HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "another method": first(b"BREW /healthz HTTP/1.1"),
    "a method in lower case": first(b"get /healthz HTTP/1.1"),
    "a way to another server": first(b"CONNECT localhost:1 HTTP/1.1"),
    "a way through a path": post(b"10").replace(b"POST", b"CONNECT"),
    "a path without a slash": first(b"GET healthz HTTP/1.1"),
    "a path with a control character": first(b"GET /healthz\x01 HTTP/1.1"),
    "a path that is not encoded": first(b"GET /healthz\xff HTTP/1.1"),
    "another protocol": first(b"GET /healthz HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: h2c"),
    "another protocol and a body": post(b"10\r\nConnection: keep-alive, Upgrade\r\nUpgrade: h2c"),
    "two hosts": first(b"GET /healthz HTTP/1.1", 2 * HOST),
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "a line without CR": b"GET /healthz HTTP/1.1\nHost: localhost\n",
}


@for_each("name", REFUSED)
def test_what_others_read_in_another_way_is_refused_and_nothing_after_it_is_read(client, name):
    for data in (REFUSED[name] + GET, REFUSED[name]):  # also alone, at once
        with connected(client) as line:
            line.sendall(data)
            assert statuses(rest(line)) == [400]


@for_each("name", ["Connection", "Proxy-Connection", "CONNECT"])
def test_a_body_that_comes_later_is_not_read_as_a_request(client, name):
    """After these headers, or this method, the parser leaves HTTP; an answer to the body would go to somebody else."""
    asked = b"%d" % len(GET) if name == "CONNECT" else b"%d\r\n%s: upgrade\r\nUpgrade: h2c" % (len(GET), name.encode())
    head = post(asked).partition(b"\r\n\r\n")[0] + b"\r\n\r\n"
    with connected(client) as line, suppress(ConnectionError):
        line.sendall(head.replace(b"POST", b"CONNECT") if name == "CONNECT" else head)
        time.sleep(0.2)
        found = line.recv(65_536)
        line.sendall(GET)
        found += rest(line)
    assert statuses(found) == [400]


STREAM = {
    "without bodies": (GET * 3, [200, 200, 200]),
    "with a length": (post(b"10") + GET, [404, 200]),
    "without a length": (b"POST /cancel HTTP/1.1\r\n" + JSON + b"\r\n" + GET, [400, 200]),
    "in chunks": (CHUNKED + b"\r\n" + CHUNKS + GET, [404, 200]),
    "with a trailer": (CHUNKED + b"\r\n" + CHUNKS[:-2] + b"X: 1\r\n\r\n" + GET, [404, 200]),
    "refused before its body": (post(b"10").replace(b"application/json", b"text/plain") + GET, [415, 200]),
}


@pytest.mark.parametrize("name", STREAM)
def test_the_pieces_in_which_requests_come_make_no_difference(client, name):
    data, told = STREAM[name]
    with connected(client) as line:
        line.sendall(data)
        found = until(line, len(told))
        assert [status for status, _ in found] == told
    with connected(client) as line:
        for i in range(len(data)):
            line.sendall(data[i : i + 1])
        assert until(line, len(told)) == found
    for at in (data.find(b"\r\n\r\n") + 2, len(data) - len(GET) - 1, len(data) - len(GET)):
        with connected(client) as line:
            line.sendall(data[:at])
            time.sleep(0.02)
            line.sendall(data[at:])
            assert until(line, len(told)) == found


def test_a_permission_to_send_the_body_is_not_kept_back(client):
    with connected(client) as line:
        head, _, body = post(b"10\r\nExpect: 100-continue").partition(b"\r\n\r\n")
        line.sendall(head + b"\r\n\r\n")
        assert line.recv(1_000) == b"HTTP/1.1 100 Continue\r\n\r\n"
        line.sendall(body)
        assert until(line, 1)[0][0] == 404


def test_a_decision_is_made_once_however_its_request_comes(client, campaign):
    before = len(events(campaign))
    for chunked in (False, True):
        body = str(asked(f"in pieces {chunked}")).replace("'", '"').encode()
        how = b"Transfer-Encoding: chunked" if chunked else b"Content-Length: %d" % len(body)
        data = b"%x\r\n" % len(body) + body + b"\r\n0\r\n\r\n" if chunked else body
        with connected(client) as line:
            for part in (b"POST /decide HTTP/1.1\r\n" + JSON, how + b"\r\n\r", b"\n", data[:9], data[9:]):
                line.sendall(part)
                time.sleep(0.01)
            assert until(line, 1)[0][0] == 200
    assert len(events(campaign)) == before + 2
