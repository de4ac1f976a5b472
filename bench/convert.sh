#!/bin/bash
# SPDX-License-Identifier: MIT
#
# bench/convert.sh [OPTION...] [ROW...]: the rows of compare.sh that are about encrypted convert; options as there.
set -eu

options=()
while getopts r:s:R:d:l o; do
    [ "$o" != '?' ] || exit 2
    options+=("-$o" ${OPTARG+"$OPTARG"})
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || set -- enc enc-W enc-new enc-new-W dec dec-W luks luks-W luks-new luks-new-W open
exec "$(dirname "$0")/compare.sh" "${options[@]}" "$@"
