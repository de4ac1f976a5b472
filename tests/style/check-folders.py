#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads the includes of every source and fails where one does not follow the arrows between folders.

usage: check-folders.py [ROOT]     status 1 if one does not; the arrows are ARROWS below

A folder may include itself and what its line names. A layer below may be included as a whole ("util"), since layers are
checked by check-style.py; inside a layer each folder is named. The arrows are a plan without circles, which is checked
too, and each folder has a README.rst that says what it owns.
"""
import os
import re
import sys

# From the folder to those it may call. A name stands for the files in it, not for the folders below.
ARROWS = {
    # util
    "util/base": [],
    "util/coroutine": ["util/base"],
    "util/thread": ["util/base", "util/coroutine"],
    "util/loop": ["util/base", "util/coroutine", "util/thread"],
    "util/offload": ["util/base", "util/coroutine", "util/thread", "util/loop"],
    "util/json": ["util/base"],
    "util/output": ["util/base", "util/json"],
    "util/options": ["util/base", "util/json", "util/output"],
    # crypto
    "crypto/base": ["util"],
    "crypto/hash": ["util", "crypto/base"],
    "crypto/kdf": ["util", "crypto/base", "crypto/hash"],
    "crypto/cipher": ["util", "crypto/base", "crypto/hash"],
    "crypto/secret": ["util", "crypto/base", "crypto/cipher"],
    "crypto/volume": ["util", "crypto/cipher", "crypto/secret"],
    "crypto/luks": ["util", "crypto/base", "crypto/hash", "crypto/kdf", "crypto/cipher", "crypto/volume"],
    "crypto/formats": ["util", "crypto/cipher", "crypto/volume", "crypto/luks"],
    # block: its own headers are what tools call (block.h) and what drivers see (block-int.h)
    "block": ["util"],
    "block/core": ["util", "block"],
    "block/crypt": ["util", "crypto", "block"],
    "block/file": ["util", "block", "block/core"],
    "block/format": ["util", "block"],
    "block/filter": ["util", "block"],
    "block/luks": ["util", "crypto", "block", "block/core", "block/crypt"],
    "block/job": ["util", "block", "block/core"],
    "block/lib": ["util", "crypto", "block", "qblock"],
    # block/qcow2
    "block/qcow2/format": ["util", "block"],
    "block/qcow2/state": ["util", "block", "block/crypt", "block/qcow2/format"],
    "block/qcow2/alloc": ["util", "block/qcow2/format", "block/qcow2/state"],
    "block/qcow2/map": ["util", "block/qcow2/format", "block/qcow2/state", "block/qcow2/alloc"],
    "block/qcow2/data": ["util", "block/qcow2/format", "block/qcow2/state", "block/qcow2/alloc", "block/qcow2/map"],
    "block/qcow2/check": ["util", "block/qcow2/format", "block/qcow2/state", "block/qcow2/map"],
    "block/qcow2/control": ["util", "crypto", "block", "block/qcow2/format", "block/qcow2/state", "block/qcow2/alloc",
                            "block/qcow2/map", "block/qcow2/data", "block/qcow2/check"],
    "block/qcow2": ["util", "block/qcow2/data", "block/qcow2/control"],
    # tools
    "tools": ["util", "crypto", "block", "block/job"],
}
LAYERS = ("util", "crypto", "block", "tools")

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')


def allows(folder, target):
    """May a file of @folder include one of the folder @target?"""
    for name in [folder, *ARROWS[folder]]:
        if target == name or (name in ("util", "crypto") and target.startswith(name + "/")):
            return True
    return False


def circle():
    """A folder that can be reached from itself, or None."""
    def visit(folder, path):
        if folder in path:
            return [*path[path.index(folder):], folder]
        for name in ARROWS.get(folder, []):
            found = visit(name, [*path, folder])
            if found:
                return found
        return None

    for folder in ARROWS:
        found = visit(folder, [])
        if found:
            return " -> ".join(found)
    return None


def sources(root):
    for layer in LAYERS:
        for folder, subfolders, files in os.walk(os.path.join(root, layer)):
            subfolders[:] = sorted(d for d in subfolders if not d.startswith("build"))
            for name in sorted(files):
                if name.endswith((".c", ".h")):
                    yield os.path.relpath(os.path.join(folder, name), root)


def breaches(root):
    """(path, line, what) of every include against the arrows."""
    for path in sources(root):
        folder = os.path.dirname(path)
        if folder not in ARROWS:
            yield path, 1, f"folder {folder} has no line in ARROWS"
            continue
        with open(os.path.join(root, path), encoding="utf-8") as f:
            for number, line in enumerate(f, 1):
                include = INCLUDE.match(line)
                if include and "/" in include.group(1) and not allows(folder, os.path.dirname(include.group(1))):
                    yield path, number, f'{folder} may not include "{include.group(1)}"'


def idle_arrows(root):
    """Arrows that no include follows any more: the plan says what is."""
    used = {folder: set() for folder in ARROWS}
    for path in sources(root):
        with open(os.path.join(root, path), encoding="utf-8") as f:
            targets = {os.path.dirname(m.group(1)) for m in map(INCLUDE.match, f) if m}
        used.setdefault(os.path.dirname(path), set()).update(targets)
    for folder, names in ARROWS.items():
        for name in names:
            if not any(t == name or (name in ("util", "crypto") and t.startswith(name + "/")) for t in used[folder]):
                yield "tests/style/check-folders.py", 1, f"no file of {folder} includes one of {name}"


def missing_readmes(root):
    for folder in ARROWS:
        if os.path.isdir(os.path.join(root, folder)) and not os.path.exists(os.path.join(root, folder, "README.rst")):
            yield f"{folder}/README.rst", 1, "is missing"


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    if circle():
        print(f"the arrows go in a circle: {circle()}")
        return 1
    found = [*breaches(root), *idle_arrows(root), *missing_readmes(root)]
    for path, line, what in found:
        print(f"{path}:{line}: {what}")
    count = len(list(sources(root)))
    print(f"{count} files, {len(found)} breaches")
    return 1 if found or not count else 0


if __name__ == "__main__":
    sys.exit(main())
