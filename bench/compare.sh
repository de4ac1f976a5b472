#!/bin/bash
# SPDX-License-Identifier: MIT
#
# bench/compare.sh [-l] [-r RUNS] [-s SIZE_MIB] [-R FOLDER]... [-d FOLDER] [ROW...]: ours against the reference, in turn,
# on the same files, in one table.
#
#   -r RUNS      runs of each side (default 5, at least 5 for a figure that is to be believed)
#   -s SIZE_MIB  of random data (default 1024)
#   -R FOLDER    the reference's tools; several are put beside each other. Default: $REFERENCE, else what
#                scripts/reference.sh fetches
#   -d FOLDER    on a disk, for the rows that are about one (default ${TMPDIR:-/var/tmp}); the rest is on tmpfs
#   -l           list the rows and what is asked of each
#   -h, --help   print this
#
# A row is run once by each side to warm up, then RUNS times in turn. Printed are the medians in ms, their spread, the
# ratio of the medians (reference / ours), what is asked, and the same ratio of the CPU seconds. "short" marks a row that
# falls short. Rows that compare ours with ours say so. Afterwards the reference compares the result with what it should be.
# Rows whose names begin with "limit" are no comparison: what the machine itself can do.
#
# Exit status: 0; 1 when a result was not identical or a command failed; 2 for a wrong command line; 3 when a row fell short.
set -eu -o pipefail

tree=$(cd "$(dirname "$0")/.." && pwd)
ours=${QBLOCK_BUILD:-$tree/build}/tools
bench_dir=${QBLOCK_BUILD:-$tree/build}/bench
runs=5 size=1024 disk=${TMPDIR:-/var/tmp} list='' refs=()

refuse() { echo "compare.sh: $*" >&2; exit 2; }
usage() { sed -n '4,/^set /{/^#/s/^# \{0,1\}//p}' "$0"; exit 0; }
want_count() { [[ $2 =~ ^[1-9][0-9]{0,6}$ ]] || refuse "$1: '$2' is not a number from 1 to 9999999"; }
want_folder() { [ -d "$2" ] || refuse "$1: '$2' is not a folder"; }

[ "${1-}" != --help ] || usage
while getopts r:s:R:d:lh o; do
    case $o in
    r) want_count -r "$OPTARG" && runs=$OPTARG ;;
    s) want_count -s "$OPTARG" && size=$OPTARG ;;
    R) want_folder -R "$OPTARG" && refs+=("$(cd "$OPTARG" && pwd)") ;;
    d) want_folder -d "$OPTARG" && disk=$OPTARG ;;
    l) list=1 ;;
    h) usage ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))

# Defines $all_rows and, each of $row: row_asks, row_ready SIDE, row_job SIDE, row_verify, row_notes; and make_sources.
. "$tree/bench/compare-rows.sh"

rows=("$@")
[ ${#rows[@]} -gt 0 ] || read -r -a rows <<<"$all_rows"
for row in "${rows[@]}"; do
    [ -n "$(row_asks)" ] || refuse "no row '$row' (-l lists them)"
done
if [ -n "$list" ]; then
    for row in "${rows[@]}"; do printf '%-14s %s\n' "$row" "$(row_asks)"; done
    exit 0
fi
[ ${#refs[@]} -gt 0 ] || refs=("${REFERENCE:-$("$tree/scripts/reference.sh")/bin}")
judge=${refs[0]}/qemu-img

dir=$(mktemp -d /dev/shm/qblock-bench.XXXXXX)
disk_dir=$(mktemp -d "$disk/qblock-bench.XXXXXX")
trap 'rm -rf "$dir" "$disk_dir"' EXIT
cd "$dir"

die() { echo "compare.sh: $*" >&2; exit 1; }

# One run: "wall-ms cpu-ms" on stdout. A job may leave its own idea of the wall time in ./took (seconds).
run() { # side, tools
    local t wall user sys TIMEFORMAT='%3R %3U %3S'
    rm -f took
    row_ready "$1" "$2" >log 2>&1 || die "$row: cannot make ready: $(tail -n 3 log)"
    t=$({ time row_job "$1" "$2" >log 2>&1; } 2>&1) || die "$row: $2: $(tail -n 3 log)"
    read -r wall user sys <<<"$t"
    [ ! -s took ] || wall=$(cat took)
    awk -v w="$wall" -v u="$user" -v s="$sys" 'BEGIN { printf "%.1f %.1f\n", w * 1000, (u + s) * 1000 }'
}

stats() { # column, file -> median min max
    awk -v c="$1" '{ print $c }' "$2" | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)], v[1], v[NR] }'
}

short=0 wrong=0
print_row() { # label, name of the other side
    local om olo ohi rm rlo rhi oc rc ask ask_cpu said extra x
    read -r om olo ohi < <(stats 1 ours.t)
    read -r rm rlo rhi < <(stats 1 ref.t)
    read -r oc x x < <(stats 2 ours.t)
    read -r rc x x < <(stats 2 ref.t)
    read -r ask ask_cpu x < <(row_asks)
    extra=$(row_notes "$om" "$oc")
    said=$(row_verify 2>&1) || true
    awk -v row="$row" -v om="$om" -v olo="$olo" -v ohi="$ohi" -v rm="$rm" -v rlo="$rlo" -v rhi="$rhi" -v oc="$oc" -v rc="$rc" \
        -v ask="$ask" -v ask_cpu="${ask_cpu:-0}" -v other="$1" -v extra="$extra" -v said="$said" 'BEGIN {
        ratio = rm / om; cpu = oc > 0 ? rc / oc : 0
        mark = (ratio < ask || cpu < ask_cpu || extra ~ /short/) ? "short" : ""
        asked = ask_cpu > 0 ? ask " cpu " ask_cpu : ask
        printf "%-14s %9.1f %8.1f ..%8.1f %9.1f %8.1f ..%8.1f %7.2f %10s %6.2f  %-5s  %s: %s %s\n",
            row, om, olo, ohi, rm, rlo, rhi, ratio, asked, cpu, mark, other, said, extra
        exit mark != ""
    }' || short=1
    [ "$said" = "Images are identical." ] || wrong=1
}

version() { "$1/qemu-img" --version | awk 'NR == 1 { print $3 }'; }

compare_row() {
    local i n other
    run ours "$ours" >/dev/null
    for ((n = 0; n < ${#refs[@]}; n++)); do
        run ref "${refs[n]}" >/dev/null
        : >"ref$n.t"
    done
    : >ours.t
    for ((i = 0; i < runs; i++)); do
        for ((n = 0; n < ${#refs[@]}; n++)); do run ref "${refs[n]}" >>"ref$n.t"; done
        run ours "$ours" >>ours.t
    done
    for ((n = 0; n < ${#refs[@]}; n++)); do
        cp "ref$n.t" ref.t
        other=$(row_other)
        print_row "${other:-$(version "${refs[n]}")}"
        [ -z "$other" ] || break
    done
}

limit_row() {
    local i m lo hi
    : >ours.t
    for ((i = 0; i < runs; i++)); do run ours "$ours" >>ours.t; done
    read -r m lo hi < <(stats 1 ours.t)
    printf '%-14s %9.1f %8.1f ..%8.1f  %s\n' "$row" "$m" "$lo" "$hi" "$(row_notes "$m" 0)"
}

make_sources
printf '%-14s %9s %18s %9s %18s %7s %10s %6s\n' row 'ours ms' '(min .. max)' 'other ms' '(min .. max)' ratio asked cpu
for row in "${rows[@]}"; do
    case $row in
    limit*) limit_row ;;
    *) compare_row ;;
    esac
    rm -f dst dst.ours dst.ref "$disk_dir"/*
done
[ $wrong = 0 ] || exit 1
[ $short = 0 ] || exit 3
