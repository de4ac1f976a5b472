#!/bin/bash
# SPDX-License-Identifier: MIT
#
# scripts/demo.sh [--no-build] [SIZE_MIB [FOLDER]...]: the main job on real input, from a bare machine.
#
# Installs the packages the build needs, builds (--no-build: takes the build that is there), and converts two sources into
# LUKS-encrypted qcow2 images, with and without -W: a raw file filled with a pattern (SIZE_MIB, default 512), and an ext4
# file system made of real files (the FOLDERs, default /usr/include and /usr/share/doc). Each result is compared with its
# source and checked by our tools and, where they are installed, by the reference's; one is converted back to raw and on
# to raw LUKS. Prints times and sizes. Scratch space: a fresh folder under ${TMPDIR:-/var/tmp}, removed at the end.
set -eu -o pipefail

tree=$(cd "$(dirname "$0")/.." && pwd)
build=${QBLOCK_BUILD:-$tree/build}
if [ "${1:-}" = --no-build ]; then
    shift
else
    "$tree/scripts/deps.sh"
    [ -e "$build/build.ninja" ] || meson setup "$build" "$tree" >/dev/null
    ninja -C "$build" >/dev/null
fi
size_mib=${1:-512}
shift $(($# > 0))
[ $# -gt 0 ] || set -- /usr/include /usr/share/doc
folders=$(realpath -e "$@")
img=$build/tools/qemu-img
io=$build/tools/qemu-io
reference=$(command -v qemu-img || true)

scratch=$(mktemp -d "${TMPDIR:-/var/tmp}/qblock-demo.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

secret=secret,id=sec0,data=test
step() { printf '%-58s' "$*"; }
timed() { # description, command...
    local what=$1 t0 t1
    shift
    step "$what"
    t0=$(date +%s%N)
    "$@" >out.log 2>&1 || { echo FAILED; cat out.log; exit 1; }
    t1=$(date +%s%N)
    printf '%6d ms\n' $(((t1 - t0) / 1000000))
}
on_disk() { stat -c %s "$1" | numfmt --to=iec-i --suffix=B; }

# The reference's tools, where installed, judge our images as well.
prove() { # source, its format, encrypted qcow2
    local opts="driver=qcow2,file.filename=$3,encrypt.key-secret=sec0" tool
    for tool in "$img" ${reference:+"$reference"}; do
        step "  $([ "$tool" = "$img" ] && echo our || echo reference) compare, check"
        "$tool" compare --object $secret --image-opts "driver=$2,file.filename=$1" "$opts" >out.log || { cat out.log; exit 1; }
        "$tool" check --object $secret --image-opts "$opts" >check.log || { cat check.log; exit 1; }
        echo "$(cat out.log | head -1) $(head -1 check.log)"
    done
}

to_encrypted() { # source, flags, target
    "$img" create -q -f qcow2 --object $secret -o encrypt.format=luks,encrypt.key-secret=sec0,encrypt.iter-time=100 "$3" \
        "$(stat -c %s "$1")"
    "$img" convert $2 -f raw --object $secret --target-image-opts -n "$1" \
        "driver=qcow2,file.filename=$3,encrypt.key-secret=sec0"
}

echo "== Sources"
"$img" create -q -f raw pattern.raw "${size_mib}M"
timed "pattern.raw: $size_mib MiB of 0x0a" "$io" -f raw -c "write -q -P 0xa 0 ${size_mib}M" pattern.raw
mkdir files
tr '\n' '\0' <<<"$folders" | xargs -0 -I{} cp -r {} files/ 2>/dev/null || true
files_mib=$(($(du -sm files | cut -f1) * 3 / 2)) # the folders are what they are: the file system has room for them
"$img" create -q -f raw files.raw "$((files_mib > size_mib ? files_mib : size_mib))M"
timed "files.raw: ext4 with $(find files -type f | wc -l) files, $(du -sh files | cut -f1)" mke2fs -q -t ext4 -d files files.raw

for src in pattern files; do
    for flags in "" "-W"; do
        echo "== $src.raw -> LUKS-encrypted qcow2 ${flags:+($flags)}"
        timed "  create, convert" to_encrypted $src.raw "$flags" $src.qcow2
        prove $src.raw raw $src.qcow2
        step "  size on disk"
        on_disk $src.qcow2
    done
done

echo "== And back"
enc="driver=qcow2,file.filename=files.qcow2,encrypt.key-secret=sec0"
timed "encrypted qcow2 -> raw" "$img" convert --object $secret --image-opts "$enc" -O raw back.raw
timed "  same bytes as the source" cmp files.raw back.raw
timed "encrypted qcow2 -> raw LUKS" "$img" convert --object $secret --image-opts "$enc" -O luks \
    -o key-secret=sec0,iter-time=100 files.luks
timed "  our compare" "$img" compare --object $secret --image-opts "$enc" "driver=luks,file.filename=files.luks,key-secret=sec0"
if command -v cryptsetup >/dev/null; then
    printf %s test >key
    timed "  cryptsetup accepts the key" cryptsetup open --test-passphrase --key-file key files.luks
fi
echo "All of it as it should be."
