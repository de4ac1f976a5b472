#!/bin/bash
# SPDX-License-Identifier: MIT
#
# arm64-cipher.sh CIPHER-ANSWERS SOURCE-ROOT BUILD-ROOT: the arm64 vector row, cross-compiled and run in an emulator.
#
# A program of the row's own files (arm64-cipher.c) checks published vectors and some thousand random runs against what
# nettle on this machine says. It is linked statically and needs no arm64 library but libc's. Skips aloud (77) without a
# cross compiler, its libc or qemu-aarch64: apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user
set -eu -o pipefail

answers=$(realpath "${1:?cipher-answers}")
root=$(realpath "${2:?source root}")
build=$(realpath "${3:?build root}")
cc=${ARM64_CC:-aarch64-linux-gnu-gcc}
emulator=$(command -v qemu-aarch64-static || command -v qemu-aarch64 || true)
[ -n "$emulator" ] || { echo "SKIP: no qemu-aarch64"; exit 77; }

dir=$(mktemp -d "${TMPDIR:-/tmp}/arm64-cipher.XXXXXX")
trap 'rm -rf "$dir"' EXIT

echo 'int main(void) { return 0; }' >"$dir/try.c"
"$cc" -static "$dir/try.c" -o "$dir/try" 2>/dev/null || { echo "SKIP: $cc cannot link an arm64 program"; exit 77; }
# glib's headers are those of this machine: of them only types of fixed size and macros are used.
[ "$(getconf LONG_BIT)" = 64 ] || { echo "SKIP: glib's headers here are not of 64 bits"; exit 77; }

flags="-std=gnu11 -O2 -g -Wall -Wextra -Werror -Wno-unused-parameter -Wno-missing-field-initializers -D_GNU_SOURCE
       -I$root -I$build $(pkg-config --cflags glib-2.0)"
for file in crypto/cipher/aes-keys.c crypto/cipher/cipher-vector-arm64.c; do
    "$cc" $flags -march=armv8-a+crypto -c "$root/$file" -o "$dir/$(basename "$file" .c).o"
done
for file in crypto/base/cpu-arm64.c tests/interop/arm64-cipher.c; do
    "$cc" $flags -c "$root/$file" -o "$dir/$(basename "$file" .c).o"
done
"$cc" -static "$dir"/*.o -o "$dir/arm64-cipher"

"$answers" 150 | "$emulator" "$dir/arm64-cipher"
