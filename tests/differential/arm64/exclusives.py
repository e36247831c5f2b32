#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""exclusives.py SYMBOLS <DISASSEMBLY: the exclusive sequences of a kernel.

An opinion of its own, for comparison with that of the engine: it goes by the
text that objdump prints for an Image (-D -b binary -m aarch64), walks from each
load-exclusive along the paths through the function, and looks back for
load-exclusives as the kernel does. For each place that lies inside a sequence, or
that the look back refuses, it prints

    OFFSET inside|outside seen|unseen

with the offset into the image.
"""

import re
import sys

WORD = 4
LOOK_BACK = 32

LOAD = re.compile(r"^lda?x(r|rb|rh|p)$")
STORE = re.compile(r"^stl?x(r|rb|rh|p)$")
# What the kernel's masks take for a store-exclusive or a load-exclusive.
TAKEN_FOR_STORE = re.compile(r"^(stl?x(r|rb|rh|p)|caspl?)$")
TAKEN_FOR_LOAD = re.compile(r"^(lda?x(r|rb|rh|p)|caspal?)$")

# An exception clears the monitor on its return.
ENDS = {"clrex", "svc", "hvc", "smc", "brk", "hlt", "udf", "eret", "eretaa", "eretab",
        "dcps1", "dcps2", "dcps3", ".inst"}
LEAVES = {"ret", "retaa", "retab", "br", "braa", "brab", "braaz", "brabz"}
CONDITIONAL = re.compile(r"^(b\.\w+|bc\.\w+|cbn?z|tbn?z)$")


def read_symbols(path):
    """The offsets at which functions begin, in order, and where the text ends."""
    starts, base, end = {}, None, None
    with open(path, encoding="ascii", errors="replace") as file:
        for line in file:
            address, kind, name = line.split()[:3]
            address = int(address, 16)
            if name == "_text":
                base = address
            if name == "_etext":
                end = address
            starts.setdefault(address, kind)
    order = sorted(starts)
    functions = []
    for at, following in zip(order, order[1:]):
        if base <= at and following <= end and starts[at] in "tTwW":
            functions.append((at - base, following - base))
    return functions


def read_instructions(file):
    """The mnemonic and the target of every branch, by offset."""
    found = {}
    line_of = re.compile(r"^\s*([0-9a-f]+):\t[0-9a-f]+ \t(\S+)(?:\t(.*))?$")
    for line in file:
        match = line_of.match(line)
        if not match:
            continue
        at, name, operands = int(match[1], 16), match[2], match[3] or ""
        target = None
        if name == "b" or CONDITIONAL.match(name):
            target = int(re.search(r"0x([0-9a-f]+)(?: .*)?$", operands)[1], 16)
        found[at] = (name, target)
    return found


def successors(code, at, start, end):
    """Where control goes from a place, within its function."""
    name, target = code[at]
    if name in LEAVES or name in ("eret", "eretaa", "eretab"):
        return []
    onward = [] if name == "b" else [at + WORD]
    if target is not None:
        onward.append(target)
    return [to for to in onward if start <= to < end]


def inside(code, start, end):
    """The places between a load-exclusive and a store-exclusive."""
    found = set()
    for load in range(start, end, WORD):
        if not LOAD.match(code[load][0]):
            continue
        before = {}
        reached = [(load, to) for to in successors(code, load, start, end)]
        while reached:
            origin, at = reached.pop()
            known = at in before
            before.setdefault(at, []).append(origin)
            name = code[at][0]
            ends = LOAD.match(name) or STORE.match(name) or name in ENDS
            if not known and not ends:
                reached.extend((at, to) for to in successors(code, at, start, end))
        leads = [at for at in before if STORE.match(code[at][0])]
        while leads:
            at = leads.pop()
            if at not in before:
                continue
            found.add(at)
            leads.extend(origin for origin in before.pop(at) if origin != load)
    return found


def seen(code, at, start):
    """Whether the kernel's look back meets a load-exclusive."""
    for back in range(at - WORD, max(start, at - LOOK_BACK * WORD) - WORD, -WORD):
        if TAKEN_FOR_STORE.match(code[back][0]):
            return False
        if TAKEN_FOR_LOAD.match(code[back][0]):
            return True
    return False


def main():
    code = read_instructions(sys.stdin)
    missing = (".inst", None)
    for start, end in read_symbols(sys.argv[1]):
        end -= (end - start) % WORD
        for at in range(start, end, WORD):
            code.setdefault(at, missing)
        names = [code[at][0] for at in range(start, end, WORD)]
        if not any(TAKEN_FOR_LOAD.match(name) for name in names):
            continue
        within = inside(code, start, end)
        for at in range(start, end, WORD):
            by_us, by_kernel = at in within, seen(code, at, start)
            if by_us or by_kernel:
                print(f"{at:#x} {'inside' if by_us else 'outside'} "
                      f"{'seen' if by_kernel else 'unseen'}")


main()
