#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiles each header alone, twice in a row, with every C compiler at hand: a header includes what it needs.

usage: check-headers.py ROOT BUILDDIR     (BUILDDIR has config.h); status 1 if a header fails
"""
import concurrent.futures
import os
import shutil
import subprocess
import sys

PACKAGES = ["glib-2.0", "json-glib-1.0", "gnutls", "nettle", "zlib", "libzstd", "liburing"]
WARNINGS = ["-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter", "-Wno-missing-field-initializers"]
HEADER_ROOTS = ("util", "crypto", "block", "tools", "include")
# A header for C++ programs too.
CXX_HEADERS = ("include/qblock/qblock.h",)

# Not headers but code, included by files that define its words first; the same list as in check-style.py.
TEMPLATES = ("crypto/cipher/aes-vector.h", "crypto/cipher/aes-vector-cbc.h")


def package_flags():
    flags = []
    for package in PACKAGES:
        found = subprocess.run(["pkg-config", "--cflags", package], capture_output=True, text=True)
        if found.returncode == 0:
            flags += found.stdout.split()
    return flags


def headers(root):
    for top in HEADER_ROOTS:
        for folder, _, files in os.walk(os.path.join(root, top)):
            for name in sorted(files):
                path = os.path.relpath(os.path.join(folder, name), root)
                if name.endswith(".h") and path not in TEMPLATES:
                    yield path


def compile_alone(compiler, language, header, flags):
    name = header[len("include/"):] if header.startswith("include/") else header
    source = f'#include "{name}"\n#include "{name}"\nextern int not_empty;\n'
    result = subprocess.run([*compiler, "-x", language, "-fsyntax-only", *flags, "-"], input=source, capture_output=True,
                            text=True)
    return result.stderr if result.returncode else ""


def jobs(root):
    compilers = [[name] for name in ("gcc", "clang") if shutil.which(name)] or [["cc"]]
    for header in headers(root):
        for compiler in compilers:
            yield compiler, "c", header
        if header in CXX_HEADERS and shutil.which("g++"):
            yield ["g++"], "c++", header


def main():
    root, build = sys.argv[1:3]
    common = [f"-I{root}", f"-I{root}/include", f"-I{build}", "-D_GNU_SOURCE", "-D_FILE_OFFSET_BITS=64", *WARNINGS,
              *package_flags()]
    flags = {"c": ["-std=gnu11", "-Wstrict-prototypes", *common], "c++": ["-std=c++11", *common]}
    failed = count = 0
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        running = [(job, pool.submit(compile_alone, *job, flags[job[1]])) for job in jobs(root)]
        for (compiler, _, header), result in running:
            count += 1
            if result.result():
                failed += 1
                print(f"{header} with {compiler[0]}:\n{result.result()}")
    print(f"{count} compilations, {failed} failed")
    return 1 if failed or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
