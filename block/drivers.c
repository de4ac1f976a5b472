/* SPDX-License-Identifier: MIT */
/* The one list of block drivers, in probing order. */
#include "block/block-int.h"

const BlockDriver *const block_drivers[] = {
    NULL,
};
