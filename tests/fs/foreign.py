#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""foreign.py PID ADDRESS WHAT: plays foreign code in the serving process PID: writes into the memory
that its successor takes over, wherever a record of the device stands, and ends the process.

  bus    the number of a bus that does not exist
  words  everything behind the key: no flag, enum or text is one
  twice  the key of another device, so that two have it
  left   nonsense in what else is left: node ids, open ctls and files, verdicts, logs of operations
"""
import os
import signal
import struct
import sys

MIB = 1 << 20
MODEL_AT, MODEL_END = 4096 + MIB, 4096 + 4097 * MIB
OBJECTS_AT = MODEL_END
CTL_AT = OBJECTS_AT + 256 * MIB
FILES_AT = CTL_AT + (1 + 16 + 16) * MIB
JOURNAL_AT = FILES_AT + 512 * MIB
TXN_AT = JOURNAL_AT + 64 * MIB
PCI = 1


def stash(pid):
    for fd in os.listdir(f"/proc/{pid}/fd"):
        path = f"/proc/{pid}/fd/{fd}"
        if os.readlink(path).startswith("/memfd:pcidevfs"):
            return os.open(path, os.O_RDWR)
    sys.exit("it has no such memory")


def records(fd, address):
    """Where a record begins: the key comes first, and the first byte of a birth is not 0."""
    wanted = struct.pack("<I", PCI) + address.encode() + b"\0"
    at = MODEL_AT
    while at < MODEL_END:
        try:
            at = os.lseek(fd, at, os.SEEK_DATA)
        except OSError:
            return
        end = min(os.lseek(fd, at, os.SEEK_HOLE), MODEL_END)
        data = os.pread(fd, end - at, at)
        found = data.find(wanted)
        while found >= 0:
            yield at + found
            found = data.find(wanted, found + 1)
        at = end


def main():
    pid, address, what = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    os.kill(pid, signal.SIGSTOP)
    fd = stash(pid)
    places = list(records(fd, address))
    if not places:
        sys.exit(f"{address} has no record")
    for at in places:
        if what == "bus":
            os.pwrite(fd, struct.pack("<I", 811), at)
        elif what == "left":
            os.pwrite(fd, b"\xfe" * 64, OBJECTS_AT + 4096 + 65536 * 56)  # of the root
            os.pwrite(fd, b"\xfe" * 4000, CTL_AT + 24 + 8)  # its first field names the open file
            os.pwrite(fd, b"\xfe" * 4000, FILES_AT + 4096 + 100)
            os.pwrite(fd, b"\xfe" * 4000, JOURNAL_AT + 16)
            os.pwrite(fd, b"\xfe" * 4000, TXN_AT + 4096)
        elif what == "words":
            os.pwrite(fd, b"\xfe" * 4096, at + 4 + 48 + 24)
        else:
            os.pwrite(fd, sys.argv[4].encode() + b"\0", at + 4)
    os.close(fd)
    os.kill(pid, signal.SIGKILL)


main()
