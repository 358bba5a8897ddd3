"""What is read from a connection while a request is answered, and how the response is sent."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.flow_control import FlowControl


class Flow(FlowControl):
    """Reads nothing more while what follows a request waits for its answer."""

    full = False

    def resume_reading(self) -> None:
        """Read again."""
        if not self.full:
            super().resume_reading()


class Joined:
    """A transport that sends a response in one piece, as every piece costs a call of the system on either side.

    Args:
        transport: where it is sent.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport, self._parts = transport, list[bytes]()
        self.is_closing, self.abort = transport.is_closing, transport.abort

    def write(self, data: bytes) -> None:
        """Buffer a part of a response, unless it is the permission to send the body."""
        if data.startswith(b"HTTP/1.1 100 "):
            self._transport.write(data)
        else:
            self._parts.append(data)

    def send(self) -> None:
        """Send what was buffered."""
        if self._parts:
            self._transport.write(b"".join(self._parts))
            self._parts.clear()

    def close(self) -> None:
        """Send what was buffered, and close the connection."""
        self.send()
        self._transport.close()
