/* SPDX-License-Identifier: MIT */
/* The check of an open image: flushed before, its tables read anew after a repair wrote behind their back. */
#include "block/qcow2/check/qcow2-check.h"
#include "block/qcow2/control/qcow2-control.h"
#include "block/qcow2/map/qcow2-flush.h"

int coroutine_fn qcow2_check(BlockNode *node, BlockCheckResult *res, unsigned fix)
{
    Qcow2State *s = qcow2_state(node);

    CO_MUTEX_GUARD(&s->meta_lock);
    int ret = s->refs.table ? qcow2_flush_metadata_locked(s, true) : 0;
    ret = ret < 0 ? ret : qcow2_check_image(s, res, fix);
    if (fix && s->l1.table && !qcow2_reload_tables_locked(s, NULL)) {
        ret = ret < 0 ? ret : -EIO;
    }
    return ret;
}
