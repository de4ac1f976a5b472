/* SPDX-License-Identifier: MIT */
#include "block/core/limits.h"

#include "util/base/units.h"

static uint32_t align_or(uint32_t align, uint32_t def)
{
    align = align ? align : def;
    g_assert(is_power_of_2(align));
    return align;
}

void block_limits_complete(BlockLimits *l)
{
    l->request_align = align_or(l->request_align, 1);
    l->memory_align = align_or(l->memory_align, 1);
    l->zero_align = align_or(l->zero_align, l->request_align);
    l->discard_align = align_or(l->discard_align, l->request_align);
    if (l->max_transfer == 0 || l->max_transfer > BLOCK_MAX_REQUEST_BYTES) {
        l->max_transfer = BLOCK_MAX_REQUEST_BYTES;
    }
    l->max_transfer = round_down(l->max_transfer, l->request_align);
    g_assert(l->max_transfer > 0 && l->max_zero >= 0 && l->max_discard >= 0);
}
