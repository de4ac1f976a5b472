/* SPDX-License-Identifier: MIT */
/* The end of each test program. */
#ifndef QBLOCK_TESTS_UNIT_SUITE_H
#define QBLOCK_TESTS_UNIT_SUITE_H

#include <check.h>

/* Runs and frees @s. Returns what main() returns: 0 if all passed. */
static inline int run_suite(Suite *s)
{
    SRunner *runner = srunner_create(s);

    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}

#endif
