# SPDX-License-Identifier: GPL-2.0-or-later
"""relayout.py MAGIC PROGRAM: makes a program that keeps one kind of memory in another way, for its layout's number is one
higher (fs/daemon/layouts.h)."""
import struct
import sys

magic, path = sys.argv[1].encode().ljust(8, b'\0'), sys.argv[2]
with open(path, 'rb') as f:
    text = bytearray(f.read())
at = [i for i in range(0, len(text), 4)
      if text[i:i + 8] == magic and 0 < struct.unpack_from('<I', text, i + 8)[0] < 100]
assert len(at) == 1, (magic, at)
struct.pack_into('<I', text, at[0] + 8, struct.unpack_from('<I', text, at[0] + 8)[0] + 1)
with open(path, 'wb') as f:
    f.write(text)
