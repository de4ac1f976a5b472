#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Proves that each rule of check-style.py and check-headers.py finds its breach, and nothing in clean files."""
import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
LICENCE = "/* SPDX-License-Identifier: MIT */\n"
CLEAN = LICENCE + """#include "util/a.h"

static int twice(int v)
{
    if (v < 0) {
        goto fail;
    }
    return 2 * v;
fail:
    return -1; /* goto out is fine here, and "goto out" in a text too */
}
"""
HEADER = LICENCE + "#ifndef QBLOCK_UTIL_A_H\n#define QBLOCK_UTIL_A_H\nextern const int table[];\n#endif\n"


def load(name):
    spec = importlib.util.spec_from_file_location(name.replace("-", "_"), os.path.join(HERE, name + ".py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


check_style = load("check-style")


class StyleRules(unittest.TestCase):
    def breaches(self, files):
        with tempfile.TemporaryDirectory() as root:
            for path, text in files.items():
                os.makedirs(os.path.dirname(os.path.join(root, path)) or root, exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as f:
                    f.write(text)
            return [f"{path}:{line}: {what}" for path, line, what in check_style.check_tree(root)[0]]

    def assert_one(self, files, expected):
        found = self.breaches(files)
        self.assertEqual(len(found), 1, found)
        self.assertIn(expected, found[0])

    def test_clean_files_pass(self):
        self.assertEqual(self.breaches({"util/a.c": CLEAN, "util/a.h": HEADER, "meson.build": "# SPDX-License-Identifier: MIT\n",
                                        "docs/x.rst": ".. SPDX-License-Identifier: MIT\n"}), [])

    def test_licence_line_is_required(self):
        self.assert_one({"util/b.c": "int x;\n"}, "util/b.c:1: the first line is not")
        self.assert_one({"scripts/x.sh": "#!/bin/sh\necho\n"}, "scripts/x.sh:2: the first line is not")
        self.assert_one({"tests/qemu-iotests/001": "#!/bin/bash\necho\n"}, "001:2: the first line is not")
        self.assert_one({"docs/x.rst": "Title\n"}, "docs/x.rst:1: the first line is not")

    def test_long_file(self):
        self.assert_one({"util/b.c": LICENCE + "int x;\n" * 800}, "file of 801 lines")
        self.assertEqual(self.breaches({"util/b.c": LICENCE + "int x;\n" * 799}), [])
        self.assertEqual(self.breaches({"tests/unit/vectors/b.c": LICENCE + "int x;\n" * 2000}), [])

    def test_long_function(self):
        body = "    x++;\n"
        self.assert_one({"util/b.c": LICENCE + "void f(void)\n{\n" + body * 78 + "}\n"}, "b.c:2: function of 81 lines")
        self.assertEqual(self.breaches({"util/b.c": LICENCE + "void f(void)\n{\n" + body * 77 + "}\n"}), [])
        self.assert_one({"util/b.c": LICENCE + "void f(int a,\n       int b)\n{\n" + body * 77 + "}\n"}, "function of 81 lines")
        self.assert_one({"tests/b.c": LICENCE + "START_TEST(f)\n{\n" + body * 90 + "}\nEND_TEST\n"}, "function of 93 lines")

    def test_layers(self):
        self.assert_one({"util/b.c": LICENCE + '#include "crypto/hash.h"\n'}, 'util includes "crypto/hash.h"')
        self.assert_one({"crypto/b.c": LICENCE + '#include "block/block.h"\n'}, 'crypto includes "block/block.h"')
        self.assert_one({"block/q/b.c": LICENCE + '#include "tools/report.h"\n'}, 'block includes "tools/report.h"')
        self.assert_one({"util/b.c": LICENCE + '#include "hash.h"\n'}, "is not rooted")
        self.assertEqual(self.breaches({"tools/b.c": LICENCE + '#include "block/block.h"\n#include "config.h"\n'}), [])

    def test_own_header_comes_first(self):
        self.assert_one({"util/a.c": LICENCE + '#include <stdio.h>\n#include "util/a.h"\n', "util/a.h": HEADER},
                        'the first include is not "util/a.h"')

    def test_include_guard(self):
        self.assert_one({"util/a.h": LICENCE + "int f(void);\n"}, "no include guard")
        self.assert_one({"util/a.h": HEADER, "util/b.h": HEADER}, "is that of util/a.h")

    def test_goto(self):
        self.assert_one({"util/b.c": LICENCE + "void f(void)\n{\n    goto out;\n}\n"}, "b.c:4: goto out")

    def test_extern(self):
        self.assert_one({"util/b.c": LICENCE + "extern int counter;\n"}, "extern variable")
        self.assert_one({"util/b.c": LICENCE + "extern int f(void);\n"}, "says nothing")
        self.assertEqual(self.breaches({"util/b.c": LICENCE + "extern uint32_t trace_mask;\nextern const char *const t[];\n"}), [])

    def test_unfinished_work(self):
        for word in ("TO" "DO", "FIX" "ME", "st" "ub", "XX" "X"):
            self.assert_one({"util/b.c": LICENCE + f"/* {word}: later */\n"}, f"'{word}'")
        self.assertEqual(self.breaches({"util/b.c": LICENCE + 'char t[] = "f-XXXXXX";\n/* stubborn */\n'}), [])

    def test_blanks_tabs_and_long_lines(self):
        self.assert_one({"util/b.c": LICENCE + "int x; \n"}, "blanks at the end")
        self.assert_one({"util/b.c": LICENCE + "\tint x;\n"}, "tab")
        self.assert_one({"util/b.c": LICENCE + "/* " + "x" * 160 + " */\n"}, "line of")

    def test_an_empty_tree_does_not_pass(self):
        with tempfile.TemporaryDirectory() as root:
            result = subprocess.run([sys.executable, os.path.join(HERE, "check-style.py"), root], capture_output=True)
            self.assertEqual(result.returncode, 1)


class HeaderRule(unittest.TestCase):
    def run_on(self, text):
        with tempfile.TemporaryDirectory() as root:
            os.mkdir(os.path.join(root, "util"))
            with open(os.path.join(root, "util", "a.h"), "w", encoding="utf-8") as f:
                f.write(text)
            command = [sys.executable, os.path.join(HERE, "check-headers.py"), root, root]
            return subprocess.run(command, capture_output=True, text=True)

    def test_a_header_that_includes_what_it_needs_passes(self):
        result = self.run_on("#ifndef A\n#define A\n#include <stdint.h>\nuint8_t f(void);\n#endif\n")
        self.assertEqual(result.returncode, 0, result.stdout)

    def test_a_header_that_does_not_fails(self):
        self.assertIn("util/a.h with", self.run_on("#ifndef A\n#define A\nuint8_t f(void);\n#endif\n").stdout)
        self.assertEqual(self.run_on("typedef struct A { int x; } A;\n").returncode, 1)  # no guard: twice is an error


class FolderRule(unittest.TestCase):
    def run_on(self, files):
        folders = load("check-folders")
        with tempfile.TemporaryDirectory() as root:
            for path, text in files.items():
                os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as f:
                    f.write(text)
            return [f"{path}:{line}: {what}" for path, line, what in folders.breaches(root)]

    def test_an_include_along_an_arrow_passes(self):
        self.assertEqual(self.run_on({"util/loop/a.c": '#include <a.h>\n#include "util/base/iov.h"\n#include "config.h"\n',
                                      "crypto/luks/a.c": '#include "util/base/iov.h"\n'}), [])

    def test_an_include_against_the_arrows_fails(self):
        self.assertEqual(self.run_on({"util/base/a.c": '#include "util/loop/event-loop.h"\n'}),
                         ['util/base/a.c:1: util/base may not include "util/loop/event-loop.h"'])

    def test_a_folder_without_a_line_fails(self):
        self.assertEqual(self.run_on({"block/new/a.c": "\n"}), ["block/new/a.c:1: folder block/new has no line in ARROWS"])

    def test_a_circle_is_found(self):
        folders = load("check-folders")
        self.assertIsNone(folders.circle())
        folders.ARROWS["util/base"] = ["util/options"]
        self.assertIn("util/base -> util/options", folders.circle())


if __name__ == "__main__":
    unittest.main()
