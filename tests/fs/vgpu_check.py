#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Transactions at random, of the vGPUs of one card: what check says is what commit does.

vgpu_check.py TREE GPU SEED ROUNDS COMMAND...: COMMAND with "mixed=0" or "mixed=1" behind it sets the mode of a card
that has no vGPU."""
import os
import random
import subprocess
import sys
import uuid

TREE, GPU, SEED, ROUNDS, COMMAND = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5:]
TYPES = ["NVIDIA LAB-2B", "NVIDIA LAB-2Q", "NVIDIA LAB-4Q", "NVIDIA LAB-8Q", "NVIDIA LAB-16Q"]
DEVICE = f"{TREE}/devices/{GPU}"
VFS = sorted(os.path.basename(os.readlink(f"{DEVICE}/{n}")) for n in os.listdir(DEVICE) if n.startswith("virtfn"))[:6]
rng = random.Random(SEED)
said = {"ok": 0, "ENOSPC": 0, "(expected)": 0}


def ask(lines, verb):
    """(errno's name or "ok", the answer)"""
    fd = os.open(f"{TREE}/ctl", os.O_RDWR)
    try:
        try:
            os.write(fd, ("\n".join(lines + [verb]) + "\n").encode())
        except OSError:
            pass
        answer = os.read(fd, 1 << 16).decode()
    finally:
        os.close(fd)
    last = [line for line in answer.split("\n") if line.startswith(("ok", "error"))][-1]
    return ("ok" if last == "ok" else last.split()[1]), answer


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read().strip()


def of_vfs():
    """Lines about some VFs: most of them are made or changed, the others end."""
    some = rng.sample(VFS, rng.randint(1, 5))
    one = rng.choice(TYPES)  # mostly all of one type, since most cards take nothing else
    return [f"{vf}/profile {rng.choice([one] * 8 + TYPES + ['none'] * 4)}" for vf in some]


def of_card():
    """Lines about mediated devices of the card itself, which keep their types."""
    there = sorted(os.listdir(f"{TREE}/mdevs"))
    lines = [f"mdev/{u}/profile none" for u in there if rng.random() < 0.5]
    one = rng.choice(TYPES)
    for _ in range(rng.randint(0 if lines else 1, 4)):
        name = uuid.UUID(int=rng.getrandbits(128), version=4)
        lines.append(f'{GPU}/create "{rng.choice([one] * 8 + TYPES)}" {name}')
    return lines


def empty():
    lines = [f"{vf}/profile none" for vf in VFS] + [f"mdev/{u}/profile none" for u in os.listdir(f"{TREE}/mdevs")]
    verdict, answer = ask(lines, "commit")
    assert verdict == "ok", answer


for n in range(ROUNDS):
    if n % (ROUNDS // 2) == 0:
        empty()
        if COMMAND:
            subprocess.run(COMMAND + [f"mixed={n * 2 // ROUNDS}"], check=True)
    transaction = of_vfs() if VFS else of_card()
    foretold, steps = ask(transaction, "check")
    came, verdict = ask(transaction, "commit")
    unsure = "(expected)" in steps
    said["(expected)" if unsure else foretold] += 1
    if came != foretold and not (unsure and came == "ENOSPC"):
        sys.exit(f"round {n} of seed {SEED}: {transaction}\ncheck: {steps}\ncommit: {verdict}")
    if came != "ok" and "its card has no room" in verdict:
        sys.exit(f"round {n} of seed {SEED}: {transaction}\nno reason: {verdict}")
    for vf in VFS:  # and all is as before or as asked
        line = [l for l in transaction if l.startswith(vf) and came == "ok"]
        if line and read(f"{TREE}/devices/{vf}/profile") != line[0].split(" ", 1)[1]:
            sys.exit(f"round {n} of seed {SEED}: {line[0]} was not done")
print(said)
if not (said["ok"] > ROUNDS / 8 and said["ENOSPC"] > ROUNDS / 8):
    sys.exit(f"hardly anything was foretold: {said}")
