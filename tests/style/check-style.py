#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the rules of docs/style.rst that a machine can check, on the text of the sources.

usage: check-style.py [ROOT]     prints "file:line: what" for each breach; status 1 if there is any

The compile check of lone headers is check-headers.py. test-check-style.py proves that each rule here can fail.
"""
import os
import re
import sys

MAX_FILE_LINES = 800
MAX_FUNCTION_LINES = 80
MAX_COLUMNS = 160  # clang-format keeps .c files within 120; tables in headers are set by hand

# Published test vectors: as long as they are.
LONG_FILES_ALLOWED = ("tests/unit/vectors/",)

# What each layer may include. A layer that is not listed (tests, bench) may include everything.
LAYERS = {
    "util": {"util"},
    "crypto": {"util", "crypto"},
    "block": {"util", "crypto", "block", "qblock"},
    "tools": {"util", "crypto", "block", "qblock", "tools"},
    "include": {"qblock"},
}

# The one variable that other files may read: trace() looks at it before each event.
EXTERN_VARIABLES_ALLOWED = {"trace_mask"}

# Code written once for several vector widths: included by files that define its words first, so no guard.
TEMPLATES = ("crypto/cipher/aes-vector.h", "crypto/cipher/aes-vector-cbc.h")

# Split, so that this file does not break its own rule.
UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK|st" r"ubs?)\b")

SKIP_FOLDERS = {"__pycache__", "corpus", "subprojects"}

SOURCES = (".c", ".h", ".S", ".py", ".sh")
NEED_SPDX = SOURCES + (".rst", ".build")
SPDX = re.compile(r"^(/\* |# |\.\. |; )SPDX-License-Identifier: MIT( \*/)?$")

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
FUNCTION_START = re.compile(r"^[A-Za-z_].*\)\s*$|^START_TEST\(|^\s+.*\)\s*$")


def strip_code(text):
    """The text with comments and the insides of literals blanked out; lines stay where they are."""
    token = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)

    def blank(match):
        s = match.group(0)
        kept = re.sub(r"[^\n]", " ", s)
        return s[0] + kept[1:-1] + s[-1] if s[0] in "\"'" and len(s) > 1 else kept

    return token.sub(blank, text)


def check_spdx(path, lines):
    at = 1 if lines and lines[0].startswith("#!") else 0
    if len(lines) <= at or not SPDX.match(lines[at]):
        yield at + 1, "the first line is not the SPDX licence line"


def check_size(path, lines):
    if len(lines) > MAX_FILE_LINES and not path.startswith(LONG_FILES_ALLOWED):
        yield len(lines), f"file of {len(lines)} lines, the limit is {MAX_FILE_LINES}"


def check_lines(path, lines):
    for number, line in enumerate(lines, 1):
        if line != line.rstrip():
            yield number, "blanks at the end of the line"
        if "\t" in line:
            yield number, "tab"
        if len(line) > MAX_COLUMNS:
            yield number, f"line of {len(line)} columns, the limit is {MAX_COLUMNS}"


def check_unfinished(path, lines):
    for number, line in enumerate(lines, 1):
        found = UNFINISHED.search(line)
        if found:
            yield number, f"'{found.group(1)}' marks unfinished work"


def check_layers(path, lines):
    layer = path.split("/")[0]
    allowed = LAYERS.get(layer)
    for number, line in enumerate(lines, 1):
        include = INCLUDE.match(line)
        if not include:
            continue
        name = include.group(1)
        if name == "config.h":
            continue
        if "/" not in name:
            yield number, f'include "{name}" is not rooted'
        elif allowed and name.split("/")[0] not in allowed:
            yield number, f'{layer} includes "{name}"'


def check_own_header_first(path, lines, root):
    header = path[:-2] + ".h"
    if path.startswith("tests/") or not os.path.exists(os.path.join(root, header)):
        return
    for number, line in enumerate(lines, 1):
        include = re.match(r'^\s*#\s*include\s+["<]([^">]+)[">]', line)
        if include:
            if include.group(1) != header:
                yield number, f'the first include is not "{header}"'
            return


def header_guard(lines):
    """The include guard, or None."""
    for at, line in enumerate(lines[:-1]):
        match = re.match(r"#ifndef (QBLOCK_(?:\w+_)?H)$", line)
        if match:
            return match.group(1) if lines[at + 1] == f"#define {match.group(1)}" else None
    return None


def check_header_guards(root, headers):
    """(path, line, what): each header has a guard of its own."""
    owners = {}
    for path in headers:
        with open(os.path.join(root, path), encoding="utf-8") as f:
            guard = header_guard(f.read().split("\n"))
        if not guard:
            yield path, 1, "no include guard QBLOCK_..._H"
        elif guard in owners:
            yield path, 1, f"include guard {guard} is that of {owners[guard]}"
        else:
            owners[guard] = path


def check_goto(path, code):
    for number, line in enumerate(code, 1):
        for target in re.findall(r"\bgoto\s+(\w+)", line):
            if target != "fail":
                yield number, f"goto {target}: only 'goto fail;' is allowed"


def check_extern(path, code):
    for number, line in enumerate(code, 1):
        match = re.match(r"^\s*extern\s+(.*)", line)
        if not match:
            continue
        declared = match.group(1)
        if re.match(r'"\s*"\s*\{', declared):
            continue  # extern "C", its text blanked
        if "(" in declared.split("[")[0]:
            yield number, "'extern' on a function says nothing"
        elif not re.search(r"\bconst\b", declared):
            names = re.findall(r"(\w+)\s*(?:\[[^\]]*\])?\s*[;,]", declared)
            if not names or not set(names) <= EXTERN_VARIABLES_ALLOWED:
                yield number, "extern variable that is not const"


def functions(code):
    """(first line, last line) of each function body's definition; bodies open and close in column 0."""
    open_at = None
    for number, line in enumerate(code, 1):
        if line.rstrip() == "{" and number > 1 and FUNCTION_START.match(code[number - 2]):
            open_at = number
            while open_at > 2 and code[open_at - 2].startswith((" ", "\t")):
                open_at -= 1
            open_at -= 1
        elif line.startswith("}") and open_at is not None:
            yield open_at, number
            open_at = None


def check_function_length(path, code):
    for first, last in functions(code):
        length = last - first + 1
        if length > MAX_FUNCTION_LINES:
            yield first, f"function of {length} lines, the limit is {MAX_FUNCTION_LINES}"


def check_file(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as f:
        text = f.read()
    lines = text.split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    name = os.path.basename(path)
    yield from check_spdx(path, lines)
    if not path.endswith(SOURCES) and "." in name:
        return
    yield from check_size(path, lines)
    yield from check_unfinished(path, lines)
    if path.endswith((".c", ".h")):
        code = strip_code(text).split("\n")
        yield from check_lines(path, lines)
        yield from check_layers(path, lines)
        yield from check_goto(path, code)
        yield from check_extern(path, code)
        yield from check_function_length(path, code)
    if path.endswith(".c"):
        yield from check_own_header_first(path, lines, root)


def is_source(root, folder, name):
    if name.endswith(NEED_SPDX) or name == "meson_options.txt":
        return True
    if "." in name:
        return False
    with open(os.path.join(root, folder, name), "rb") as f:
        return f.read(2) == b"#!"


def source_files(root):
    for folder, subfolders, files in os.walk(root):
        subfolders[:] = sorted(d for d in subfolders if not d.startswith((".", "build")) and d not in SKIP_FOLDERS)
        for name in sorted(files):
            if not name.startswith(".") and is_source(root, folder, name):
                yield os.path.relpath(os.path.join(folder, name), root)


def check_tree(root):
    """(path, line, what) of every breach, and how many files were read."""
    paths = list(source_files(root))
    breaches = [(path, line, what) for path in paths for line, what in check_file(root, path)]
    breaches += check_header_guards(root, [p for p in paths if p.endswith(".h") and p not in TEMPLATES])
    return breaches, len(paths)


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    breaches, files = check_tree(root)
    for path, line, what in breaches:
        print(f"{path}:{line}: {what}")
    if files == 0:
        print(f"{root}: no sources here")
        return 1
    print(f"{files} files, {len(breaches)} breaches")
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
