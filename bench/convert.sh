#!/bin/bash
# SPDX-License-Identifier: MIT
#
# bench/convert.sh [-r RUNS] [-s SIZE_MIB] [ROW...]: ours against the reference, in turn, on the same files.
#
# Rows: enc enc-W dec dec-W luks luks-W open (default: all). 1 GiB of random data on tmpfs, iter-time=10, medians of
# RUNS (default 5). Prints the two medians in ms, their spreads and the ratio, and afterwards lets the reference compare
# each result with the source. The reference: $REFERENCE, else what scripts/reference.sh fetches.
set -eu -o pipefail

tree=$(cd "$(dirname "$0")/.." && pwd)
runs=5 size=1024
while getopts r:s: o; do
    case $o in
    r) runs=$OPTARG ;;
    s) size=$OPTARG ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
rows=${*:-enc enc-W dec dec-W luks luks-W open}
ours=${QBLOCK_BUILD:-$tree/build}/tools
ref=${REFERENCE:-$("$tree/scripts/reference.sh")/bin}

dir=$(mktemp -d /dev/shm/qblock-bench.XXXXXX)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

secret="--object secret,id=s0,data=test"
luks="encrypt.format=luks,encrypt.key-secret=s0,encrypt.iter-time=10"
q() { echo "driver=qcow2,file.filename=$1,encrypt.key-secret=s0"; }
l() { echo "driver=luks,file.filename=$1,key-secret=s0"; }

head -c "${size}M" /dev/urandom >src.raw
"$ref/qemu-img" convert -f raw -O qcow2 src.raw src.qcow2
"$ref/qemu-img" create -q -f qcow2 $secret -o $luks enc.qcow2 "${size}M"
"$ref/qemu-img" convert -n -f raw $secret --target-image-opts src.raw "$(q enc.qcow2)"
"$ref/qemu-img" create -q -f qcow2 $secret -o encrypt.format=luks,encrypt.key-secret=s0 slow.qcow2 1M

# Each row: make ready (not timed), then the timed command. $1 = folder of the tools.
ready() {
    case $row in
    enc*) "$1/qemu-img" create -q -f qcow2 $secret -o $luks dst "${size}M" ;;
    luks*) "$1/qemu-img" create -q -f luks $secret -o key-secret=s0,iter-time=10 dst "${size}M" ;;
    esac
}
job() {
    local w=""
    [[ $row == *-W ]] && w="-W -m 16"
    case $row in
    enc*) "$1/qemu-img" convert $w -n -f raw $secret --target-image-opts src.raw "$(q dst)" ;;
    dec*) "$1/qemu-img" convert $w $secret --image-opts "$(q enc.qcow2)" -O raw dst ;;
    luks*) "$1/qemu-img" convert $w -n $secret --image-opts driver=qcow2,file.filename=src.qcow2 --target-image-opts "$(l dst)" ;;
    open) "$1/qemu-io" $secret --image-opts "$(q slow.qcow2)" -c length >/dev/null ;;
    esac
}
verify() {
    case $row in
    enc*) "$ref/qemu-img" compare $secret --image-opts driver=raw,file.filename=src.raw "$(q dst)" ;;
    dec*) "$ref/qemu-img" compare -f raw -F raw src.raw dst ;;
    luks*) "$ref/qemu-img" compare $secret --image-opts driver=raw,file.filename=src.raw "$(l dst)" ;;
    open) echo "Images are identical." ;;
    esac
}
run() { # tools -> milliseconds on stdout
    local t0 t1
    rm -f dst
    ready "$1" >&2
    t0=$(date +%s%N)
    job "$1" >&2
    t1=$(date +%s%N)
    echo $(((t1 - t0) / 100000))
}
median() { sort -n | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)], v[1], v[NR]}'; }

printf '%-8s %12s %18s %12s %18s %7s\n' row 'ours ms' '(min .. max)' 'ref. ms' '(min .. max)' ratio
for row in $rows; do
    run "$ours" >/dev/null # warm both once
    run "$ref" >/dev/null
    : >ours.t
    : >ref.t
    for ((i = 0; i < runs; i++)); do
        run "$ref" >>ref.t
        run "$ours" >>ours.t
    done
    said=$(verify)
    read -r om olo ohi < <(median <ours.t)
    read -r rm rlo rhi < <(median <ref.t)
    awk -v row="$row" -v om=$om -v olo=$olo -v ohi=$ohi -v rm=$rm -v rlo=$rlo -v rhi=$rhi -v said="$said" 'BEGIN {
        printf "%-8s %12.1f %8.1f ..%8.1f %12.1f %8.1f ..%8.1f %7.2f  %s\n", row, om / 10, olo / 10, ohi / 10, rm / 10, rlo / 10, rhi / 10, rm / om, said
    }'
done
