#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the options of each tool and command, as --help lists them, with those of its manual page, both ways.

usage: check-manual.py ROOT TOOLSDIR     status 1 if they differ

An option is its letter, its long name and whether it takes an argument. In a page it stands at the head of an entry:
"-O, --target-format FMT; -o, --target-options OPTIONS". A command's options are those of its own section, and of the
common ones those that its --help has too.
"""
import os
import re
import subprocess
import sys

HELP_COLUMN = 34
COMMON = "COMMON OPTIONS OF COMMANDS"


def options_of(text):
    """The options of one entry; letters that share a long name are options of their own."""
    found = set()
    for part in text.split("; "):
        words = [word for word in re.split(r"(?:,? )", part) if word]
        letters = [word for word in words if re.fullmatch(r"-\w", word)]
        names = [word for word in words if word.startswith("--")]
        takes_arg = len(words) > len(letters) + len(names)
        found |= {(letter, name, takes_arg) for letter in letters or [None] for name in names or [None]}
    return found


def help_options(*command):
    """What --help lists: an option a line after two blanks, its description in column 34 or, behind a long one, below."""
    page = subprocess.run([*command, "--help"], capture_output=True, text=True, check=True).stdout
    found = set()
    for line in page.splitlines():
        if line.startswith("  -"):
            aside = len(line) > HELP_COLUMN and line[HELP_COLUMN - 1] == " "
            found |= options_of(line[:HELP_COLUMN].strip() if aside else line.strip())
    return found


def sections(path):
    """(title, its options, options its title names) of each section of a page."""
    with open(path, encoding="utf-8") as page:
        lines = page.read().splitlines()
    title, found, result = None, set(), []
    for line, below in zip(lines, lines[1:] + [""]):
        if line and re.fullmatch(r"([=-])\1{3,}", below) and len(below) >= len(line):
            title, found = line, set()
            result.append((title, found))
        elif title and line.startswith("-") and not re.fullmatch(r"-+", line):
            found |= options_of(line)
    return result


def text(option):
    return ", ".join(word for word in option[:2] if word) + (" ARG" if option[2] else "")


def compare(name, helps, manual, common):
    """Complaints about one command: @manual are its own entries, @common those it may have besides."""
    wrong = [f"{name}: --help has {text(o)}, the manual page has not" for o in sorted(helps - manual - common, key=str)]
    wrong += [f"{name}: the manual page has {text(o)}, --help has not" for o in sorted(manual - helps, key=str)]
    return wrong if len(helps) > 2 else [f"{name}: --help was not understood"]


def check_qemu_img(root, tool):
    pages = sections(os.path.join(root, "docs/tools/qemu-img.rst"))
    by_title = dict(pages)
    common, wrong, used = by_title[COMMON], [], set()
    wrong += compare("qemu-img", help_options(tool), by_title["GLOBAL OPTIONS"], common)
    page = subprocess.run([tool, "--help"], capture_output=True, text=True, check=True).stdout
    for command in re.findall(r"^  ([a-z]+) {2,}", page, re.M):
        helps = help_options(tool, command)
        own = [(title, found) for title, found in pages if title.split()[0] == command]
        if not own:
            wrong.append(f"{command}: no section in the manual page")
            continue
        title, found = own[0]
        wrong += compare(command, helps, found, common)
        known = {word for option in helps for word in option[:2] if word}
        wrong += [f"{command}: its title names {word}, --help does not"
                  for word in re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", title) if word not in known]
        used |= helps
    wrong += [f"no command has the common option {text(o)}" for o in sorted(common - used, key=str)]
    return wrong


def check_qemu_io(root, tool):
    found = dict(sections(os.path.join(root, "docs/tools/qemu-io.rst")))["OPTIONS"]
    return compare("qemu-io", help_options(tool), found, set())


def main():
    root, tools = sys.argv[1:3]
    wrong = check_qemu_img(root, os.path.join(tools, "qemu-img")) + check_qemu_io(root, os.path.join(tools, "qemu-io"))
    print("\n".join(wrong) if wrong else "manual pages and --help agree")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
