#!/bin/bash
# SPDX-License-Identifier: MIT
#
# scripts/deps.sh [--test]: install the Debian packages that building needs, and with --test those the tests need too.
#
# Only packages that are missing are installed, through apt-get, as root or with sudo. Nothing is printed when all are there.
set -eu

build="gcc libc6-dev meson ninja-build pkg-config libglib2.0-dev libgnutls28-dev nettle-dev zlib1g-dev libzstd-dev
       libjson-glib-dev liburing-dev libargon2-dev"
tests="check clang libclang-rt-dev python3 e2fsprogs ccache qemu-utils cryptsetup-bin strace jq valgrind util-linux"

case ${1:-} in
"") wanted=$build ;;
--test) wanted="$build $tests" ;;
*) echo "usage: deps.sh [--test]" >&2; exit 1 ;;
esac

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    echo "deps.sh: this is no Debian system; install yourself what corresponds to:" $wanted >&2
    exit 0
fi

missing=
for name in $wanted; do
    dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null | grep -qx installed || missing="$missing $name"
done
[ -n "$missing" ] || exit 0

as_root=
if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || { echo "deps.sh: needs root or sudo to install:$missing" >&2; exit 1; }
    as_root="sudo env DEBIAN_FRONTEND=noninteractive"
fi
export DEBIAN_FRONTEND=noninteractive
echo "deps.sh: installing$missing"
# Old package lists name files the archive no longer has, so they are fetched first. A list that cannot be fetched does not
# matter as long as the packages can.
$as_root apt-get -qq update || echo "deps.sh: some package lists could not be fetched" >&2
$as_root apt-get -qq -y --no-install-recommends install $missing
