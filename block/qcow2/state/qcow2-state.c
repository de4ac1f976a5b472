/* SPDX-License-Identifier: MIT */
/* What an image says of itself: its header, and the reaction to impossible metadata - say it once, and stop writing
 * before it spreads. Source: qcow2 sheet section 17. */
#include "block/qcow2/state/qcow2-int.h"
#include "block/qcow2/format/qcow2-header-io.h"

#include <errno.h>
#include <stdio.h>

/* v2 has no bit to remember it by; the node is closed to I/O all the same. */
static void coroutine_fn set_corrupt_bit_locked(Qcow2State *s)
{
    if (s->geo.version >= 3) {
        s->header.incompatible |= QCOW2_INCOMPAT_CORRUPT;
        qcow2_write_header_locked(s);
        block_co_flush(s->node->file);
    }
}

int coroutine_fn qcow2_mark_corrupt(Qcow2State *s, bool fatal, const char *fmt, ...)
{
    bool closes = fatal && (s->node->flags & BLOCK_OPEN_RDWR);

    if (closes ? atomic_exchange(&s->corrupt, true) : atomic_exchange(&s->corrupt_said, true)) {
        return -EIO;
    }

    va_list ap;
    va_start(ap, fmt);
    g_autofree char *why = g_strdup_vprintf(fmt, ap);
    va_end(ap);

    if (!closes) {
        fprintf(stderr, "qcow2: Image is corrupt: %s; further non-fatal corruption events will be suppressed\n", why);
        return -EIO;
    }
    fprintf(stderr, "qcow2: Marking image as corrupt: %s; further corruption events will be suppressed\n", why);
    if (co_mutex_is_held(&s->meta_lock)) {
        set_corrupt_bit_locked(s);
    } else {
        CO_MUTEX_GUARD(&s->meta_lock);
        set_corrupt_bit_locked(s);
    }
    return -EIO;
}

int coroutine_fn qcow2_write_header_locked(Qcow2State *s)
{
    return qcow2_header_store(s->node->file, &s->header);
}
