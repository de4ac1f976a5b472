/* SPDX-License-Identifier: MIT */
/* The progress line of long jobs, and the SIGUSR1 report.
 *
 * With @enabled: "    (%3.2f/100%%)\r" on stdout at 0, at each further 1 %, and at the end, then a newline. On SIGUSR1
 * without -p the same text goes to stderr as one line. On a terminal rate and time left may follow. */
#ifndef QBLOCK_UTIL_PROGRESS_H
#define QBLOCK_UTIL_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct Progress Progress;

Progress *progress_new(bool enabled, uint64_t total); /* total in any unit; 0 counts as done */
void progress_set_total(Progress *p, uint64_t total);
void progress_add(Progress *p, uint64_t done);        /* Context: any thread */
void progress_end(Progress *p);                       /* prints the end state and frees; NULL allowed */

#endif
