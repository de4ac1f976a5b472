/* SPDX-License-Identifier: MIT */
/* The progress line of long jobs, and the SIGUSR1 report.
 *
 * With @enabled: "    (%3.2f/100%%)\r" on stdout at 0, at each further 1 % and at 100 %, then a newline at the end. On
 * a terminal rate and time left follow. Without @enabled, each SIGUSR1 puts the same text as one line on stderr, at
 * once, even while the job waits for slow storage. From the first progress_new() on, SIGUSR1 no longer ends the
 * process. One job at a time reports; a newer one takes the signal over. */
#ifndef QBLOCK_UTIL_PROGRESS_H
#define QBLOCK_UTIL_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct Progress Progress;

Progress *progress_new(bool enabled, uint64_t total); /* total in bytes; 0 counts as done */
void progress_set_total(Progress *p, uint64_t total); /* Context: any thread */
void progress_add(Progress *p, uint64_t done);        /* Context: any thread; NULL allowed */
void progress_done(Progress *p);                      /* the job succeeded: shows 100 %; NULL allowed */
void progress_end(Progress *p);                       /* prints the newline and frees; NULL allowed */
/* Why a progress line could not be written: the first errno, 0 if all were. Context: any thread. */
int progress_stdout_errno(void);

#endif
