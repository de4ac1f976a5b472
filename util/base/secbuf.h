/* SPDX-License-Identifier: MIT */
/* SecBuf: memory for keys and passphrases. Locked against swap where the limit allows, kept out of core dumps, wiped
 * when freed, never traced or printed. Context: any (one owner at a time). */
#ifndef QBLOCK_UTIL_SECBUF_H
#define QBLOCK_UTIL_SECBUF_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct SecBuf SecBuf;

#define SECBUF_ALIGN 64 /* where its data begins, at least */

/* A zeroed buffer of @bytes (0 allowed). Aborts only when the system has no memory for @bytes <= 1 MiB; NULL above
 * that. */
SecBuf *secbuf_new(size_t bytes);
SecBuf *secbuf_new_copy(const void *data, size_t bytes);
void secbuf_free(SecBuf *b); /* wipes; NULL allowed */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SecBuf, secbuf_free)

uint8_t *secbuf_data(const SecBuf *b); /* never NULL; borrowed */
size_t secbuf_size(const SecBuf *b);
void secbuf_truncate(SecBuf *b, size_t bytes); /* only shrinks; wipes the cut part */

/* Overwrite @bytes at @p in a way no compiler removes. */
void mem_wipe(void *p, size_t bytes);

/* Overwrite what returned functions have left on the stack below the caller, and the vector registers: compilers keep
 * parts of secrets in both. Costs about a tenth of a microsecond. Context: any, with 16 KiB of stack left. */
void mem_wipe_stack(void);
/* The registers alone: what ends a run of a cipher whose scope is too small for the rest. Nanoseconds. Context: any. */
void mem_wipe_registers(void);
/* The same as mem_wipe_stack() when the scope ends; the first declaration of a scope that handles keys, so that it is
 * done last. */
#define MEM_WIPE_STACK_GUARD() \
    char wipe_stack_ __attribute__((cleanup(mem_wipe_stack_cleanup))) G_GNUC_UNUSED = 0
void mem_wipe_stack_cleanup(char *unused);

/* True when equal; time depends on @bytes only. */
bool mem_equal_consttime(const void *a, const void *b, size_t bytes) G_GNUC_WARN_UNUSED_RESULT;

#endif
