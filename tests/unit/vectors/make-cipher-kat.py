#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Print the table of crypto/cipher/cipher-kat.c.

Block ciphers come from OpenSSL (AES, through python3-cryptography) and libgcrypt (the others); the modes are written out
here, so that nothing is shared with the libraries the table is there to check. The two IEEE 1619 vectors among the results
(4: AES-128, 10: AES-256, whose data is this very pattern) are compared with their published first blocks.
"""
import ctypes
import hashlib

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

DATA = bytes(range(256)) * 2
KEY = bytes.fromhex("2718281828459045235360287471352662497757247093699959574966967627"
                    "3141592653589793238462643383279502884197169399375105820974944592")
IV = bytes.fromhex("ff000000000000000000000000000000")

gcrypt = ctypes.CDLL("libgcrypt.so.20")
gcrypt.gcry_check_version.restype = ctypes.c_char_p
gcrypt.gcry_check_version(None)
GCRY = {"serpent-128": 304, "serpent-192": 305, "serpent-256": 306, "twofish-128": 303, "twofish-256": 10, "cast5-128": 3}


def gcrypt_ecb(alg, key, data):
    handle = ctypes.c_void_p()
    assert gcrypt.gcry_cipher_open(ctypes.byref(handle), alg, 1, 0) == 0
    assert gcrypt.gcry_cipher_setkey(handle, key, ctypes.c_size_t(len(key))) == 0
    out = ctypes.create_string_buffer(len(data))
    assert gcrypt.gcry_cipher_encrypt(handle, out, ctypes.c_size_t(len(data)), data, ctypes.c_size_t(len(data))) == 0
    gcrypt.gcry_cipher_close(handle)
    return out.raw


def ecb(alg, key, data):
    if alg.startswith("aes"):
        return Cipher(algorithms.AES(key), modes.ECB()).encryptor().update(data)
    return gcrypt_ecb(GCRY[alg], key, data)


def xor(a, b):
    return bytes(x ^ y for x, y in zip(a, b))


def run(alg, mode, key, iv, block):
    if mode == "ecb":
        return ecb(alg, key, DATA)
    out = b""
    if mode == "xts":
        half = len(key) // 2
        tweak = ecb(alg, key[half:], iv)
        key = key[:half]
    for i in range(0, len(DATA), block):
        d = DATA[i:i + block]
        if mode == "cbc":
            iv = ecb(alg, key, xor(d, iv))
            out += iv
        elif mode == "ctr":
            out += xor(d, ecb(alg, key, iv))
            iv = ((int.from_bytes(iv, "big") + 1) % (1 << 8 * block)).to_bytes(block, "big")
        else:
            out += xor(ecb(alg, key, xor(d, tweak)), tweak)
            t = int.from_bytes(tweak, "little") << 1
            tweak = ((t ^ 0x87) & ((1 << 128) - 1) if t >> 128 else t).to_bytes(16, "little")
    return out


def key_for(alg, size, mode):
    if mode != "xts":
        return KEY[:size]
    if alg == "aes-128":  # vector 4
        return KEY[:16] + KEY[32:48]
    return KEY[:size] + KEY[32:32 + size]


for alg in ("aes-128", "aes-192", "aes-256", "serpent-128", "serpent-192", "serpent-256", "twofish-128", "twofish-256",
            "cast5-128"):
    size, block = int(alg.split("-")[1]) // 8, 8 if alg.startswith("cast") else 16
    for mode in ("ecb", "cbc", "xts", "ctr"):
        if mode == "xts" and block == 8:
            continue
        iv = bytes(16) if (alg, mode) == ("aes-128", "xts") else IV
        key = key_for(alg, size, mode)
        out = run(alg, mode, key, iv[:block], block)
        if (alg, mode) == ("aes-128", "xts"):
            assert out.startswith(bytes.fromhex("27a7479befa1d476489f308cd4cfa6e2"))
        if (alg, mode) == ("aes-256", "xts"):
            assert out.startswith(bytes.fromhex("1c3b3a102f770386e4836c99e370cf9b"))
        name = alg.upper().replace("-", "_")
        print(f'    {{CIPHER_{name}, CIPHER_{mode.upper()}, {iv[0]:#x},\n     "{hashlib.sha256(out).hexdigest()}"}},')
