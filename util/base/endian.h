/* SPDX-License-Identifier: MIT */
/* Loads and stores of on-disk integers in byte arrays of any alignment. Context: any; pure. */
#ifndef QBLOCK_UTIL_ENDIAN_H
#define QBLOCK_UTIL_ENDIAN_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t load_be16(const void *p) { uint16_t v; memcpy(&v, p, 2); return be16toh(v); }
static inline uint32_t load_be32(const void *p) { uint32_t v; memcpy(&v, p, 4); return be32toh(v); }
static inline uint64_t load_be64(const void *p) { uint64_t v; memcpy(&v, p, 8); return be64toh(v); }
static inline uint64_t load_le64(const void *p) { uint64_t v; memcpy(&v, p, 8); return le64toh(v); }
static inline void store_be16(void *p, uint16_t v) { v = htobe16(v); memcpy(p, &v, 2); }
static inline void store_be32(void *p, uint32_t v) { v = htobe32(v); memcpy(p, &v, 4); }
static inline void store_be64(void *p, uint64_t v) { v = htobe64(v); memcpy(p, &v, 8); }
static inline void store_le32(void *p, uint32_t v) { v = htole32(v); memcpy(p, &v, 4); }
static inline void store_le64(void *p, uint64_t v) { v = htole64(v); memcpy(p, &v, 8); }

#endif
