/* SPDX-License-Identifier: MIT */
/* Reads of host bytes that must not be reused meanwhile: of compressed or shared clusters. */
#ifndef QBLOCK_BLOCK_QCOW2_READER_H
#define QBLOCK_BLOCK_QCOW2_READER_H

#include "block/qcow2/state/qcow2-int.h"

/* Register @r for the host range. Context: any, l2 guard held since the lookup that found it. */
void qcow2_reader_begin_locked(Qcow2State *s, Qcow2Reader *r, uint64_t host_off, uint64_t bytes);
/* A no-op for a reader of 0 bytes. Context: any, l2 guard not held. */
void qcow2_reader_end(Qcow2State *s, Qcow2Reader *reader);
/* Is any registered reader inside the host range? Context: any, l2 guard not held. */
bool qcow2_readers_overlap(Qcow2State *s, uint64_t host_off, uint64_t bytes);

#endif
