#!/bin/bash
# SPDX-License-Identifier: MIT
#
# bench/convert.sh [OPTION...] [ROW...]: the rows of compare.sh that are about encrypted convert.
set -eu

usage() {
    sed -n '4s/^# //p' "$0"
    printf 'Options, table and exit status are those of compare.sh:\n\n'
    exec "$(dirname "$0")/compare.sh" -h
}

[ "${1-}" != --help ] || usage
options=()
while getopts r:s:R:d:lh o; do
    [ "$o" != h ] || usage
    [ "$o" != '?' ] || exit 2
    options+=("-$o" ${OPTARG+"$OPTARG"})
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || set -- enc enc-W enc-new enc-new-W dec dec-W luks luks-W luks-new luks-new-W open
exec "$(dirname "$0")/compare.sh" "${options[@]}" "$@"
