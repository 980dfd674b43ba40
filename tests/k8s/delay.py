#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""delay.py SERVER MS FILE: a proxy to SERVER (HOST:PORT) whose connections take MS more for a round trip. Writes its own
HOST:PORT to FILE once it listens."""
import asyncio
import os
import sys

HOST, PORT = sys.argv[1].rsplit(":", 1)
HALF = float(sys.argv[2]) / 2000
LOOP = None


class End(asyncio.Protocol):
    """What comes here leaves at the other end half a round trip later, in the same order."""

    def __init__(self, other=None):
        self.other, self.transport, self.waiting = other, None, []
        if other:
            other.other = self

    def connection_made(self, transport):
        self.transport = transport
        if not self.other:
            LOOP.create_task(LOOP.create_connection(lambda: End(self), HOST, int(PORT)))
            return
        for data in self.other.waiting:
            self.transport.write(data)

    def data_received(self, data):
        LOOP.call_later(HALF, self.pass_on, data)

    def pass_on(self, data):
        if not self.other or not self.other.transport:
            self.waiting.append(data)
        elif not self.other.transport.is_closing():
            self.other.transport.write(data)

    def connection_lost(self, _error):
        if self.other and self.other.transport:
            LOOP.call_later(HALF, self.other.transport.close)


async def main():
    global LOOP
    LOOP = asyncio.get_running_loop()
    server = await LOOP.create_server(End, "127.0.0.1", 0)
    with open(sys.argv[3] + ".new", "w", encoding="ascii") as f:
        f.write("127.0.0.1:%d" % server.sockets[0].getsockname()[1])
    os.rename(sys.argv[3] + ".new", sys.argv[3])
    await server.serve_forever()


asyncio.run(main())
