#!/bin/bash
# SPDX-License-Identifier: MIT
#
# scripts/reference.sh [DIR]: put the reference's 10.0 tools into a private folder and print it.
#
# DIR (default .reference/ in the tree, ignored by git) gets the package qemu-utils unpacked under root/, those shared
# libraries this machine lacks, and bin/qemu-img, bin/qemu-io, bin/qemu-nbd that run them. The system is not touched: apt
# works on a state of its own inside DIR, and nothing is installed. Where the archive is, and by which key it is signed,
# is taken from the machine's own apt sources.
#
# Exit status: 0 and the folder on stdout; 77 when there is no apt or the archive cannot be reached (one line on stderr);
# 1 when something is broken.
set -eu -o pipefail
umask 022

tree=$(cd "$(dirname "$0")/.." && pwd)
dir=${1:-$tree/.reference}
want=10.0

skip() { echo "reference.sh: $*" >&2; exit 77; }
fail() { echo "reference.sh: $*" >&2; exit 1; }

is_complete() { [ -e "$dir/complete" ] && [ -x "$dir/bin/qemu-img" ] && "$dir/bin/qemu-img" --version >/dev/null 2>&1; }

# Debian archive lines of the machine's sources as "URI<tab>signed-by", from deb822 .sources and one-line .list files. A
# Signed-By that holds the key itself instead of a file name is written to $dir/apt/archive.asc.
debian_archives() {
    find /etc/apt/sources.list.d -name '*.sources' -exec cat {} \; -exec echo \; | awk -v inlinekey="$dir/apt/archive.asc" '
        function flush_stanza(   n, i, uri, has_suite) {
            n = split(field["suites"], suites, /[ \t]+/)
            for (i = 1; i <= n; i++) if (suites[i] == codename) has_suite = 1
            if (has_suite && field["types"] ~ /(^| )deb( |$)/ && field["enabled"] !~ /^(no|false)$/) {
                by = field["signed-by"]
                if (by ~ /BEGIN PGP/) { gsub(/\n \./, "\n", by); gsub(/\n /, "\n", by); print by > inlinekey; by = inlinekey }
                gsub(/[ \t\n]/, "", by)
                n = split(field["uris"], uris, /[ \t]+/)
                for (i = 1; i <= n; i++) print uris[i] "\t" by
            }
            delete field; key = ""
        }
        BEGIN { "sed -n s/^VERSION_CODENAME=//p /etc/os-release" | getline codename }
        /^#/ { next }
        /^[ \t]*$/ { flush_stanza(); next }
        /^[ \t]/ { field[key] = field[key] "\n" $0; next }
        { key = tolower($0); sub(/:.*/, "", key); value = $0; sub(/^[^:]*:[ \t]*/, "", value); field[key] = value }
        END { flush_stanza() }'
    cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null | awk '
        BEGIN { "sed -n s/^VERSION_CODENAME=//p /etc/os-release" | getline codename }
        $1 == "deb" {
            by = ""; line = $0
            if (match(line, /\[[^]]*\]/)) {
                opts = substr(line, RSTART + 1, RLENGTH - 2)
                line = substr(line, 1, RSTART - 1) substr(line, RSTART + RLENGTH)
                if (match(opts, /signed-by=[^ ]*/)) by = substr(opts, RSTART + 10, RLENGTH - 10)
            }
            n = split(line, word, /[ \t]+/)
            if (n >= 4 && word[3] == codename) print word[2] "\t" by
        }'
}

# Write the private source list for the suites named.
write_sources() {
    local suite
    : >"$dir/apt/sources.list"
    for suite in "$@"; do
        echo "deb ${signed_by:+[signed-by=$signed_by] }$archive $suite main" >>"$dir/apt/sources.list"
    done
}

# apt-get on the private state. The configuration of the machine (proxies, credentials) stays in force, but none of its hooks.
private_apt() {
    apt-get -c "$dir/apt/apt.conf" -qq "$@"
}

setup_apt() {
    mkdir -p "$dir/apt/state/lists/partial" "$dir/apt/cache/archives/partial" "$dir/apt/parts" "$dir/debs"
    cat >"$dir/apt/apt.conf" <<CONF
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear DPkg::Post-Invoke;
Dir::State "$dir/apt/state";
Dir::State::status "/var/lib/dpkg/status";
Dir::Cache "$dir/apt/cache";
Dir::Etc::sourcelist "$dir/apt/sources.list";
Dir::Etc::sourceparts "$dir/apt/parts";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "$dir/apt/parts";
APT::Sandbox::User "root";
APT::Get::List-Cleanup "false";
Acquire::Languages "none";
Acquire::Retries "2";
Acquire::http::Timeout "20";
Acquire::https::Timeout "20";
CONF
}

update_lists() {
    write_sources "$@"
    timeout 300 apt-get -c "$dir/apt/apt.conf" -qq -o APT::Update::Error-Mode=any update >"$dir/apt/log" 2>&1 ||
        skip "the archive $archive cannot be reached: $(grep -m1 -E '^[EW]:' "$dir/apt/log" || echo 'apt-get update failed')"
}

# Download a package of the private lists and unpack it under root/.
unpack_package() {
    local spec=$1 name=${1%%/*}
    (cd "$dir/debs" && timeout 300 apt-get -c "$dir/apt/apt.conf" -qq download "$spec" >"$dir/apt/log" 2>&1) || return 1
    dpkg-deb -x "$(ls -t "$dir/debs/${name}"_*.deb | head -n1)" "$dir/root"
}

lib_path() {
    find "$dir/root" -name '*.so*' -printf '%h\n' 2>/dev/null | sort -u | paste -sd:
}

missing_libs() {
    LD_LIBRARY_PATH=$(lib_path) ldd "$dir/root/usr/bin/"qemu-{img,io,nbd} 2>/dev/null | awk '/not found/ { print $1 }' | sort -u
}

# Names of the packages that those already here depend on and this machine has not installed.
missing_depends() {
    local deb name
    for deb in "$dir"/debs/*.deb; do dpkg-deb -f "$deb" Pre-Depends Depends; done |
        sed 's/^[A-Za-z-]*: //; s/,/\n/g' | sed 's/|.*//; s/(.*//; s/:any//; s/ //g' | sort -u | grep . |
        while read -r name; do
            compgen -G "$dir/debs/${name}_*.deb" >/dev/null && continue
            dpkg-query -W -f '${db:Status-Status}\n' "$name" 2>/dev/null | grep -qx installed || echo "$name"
        done
}

# Fetch what ldd misses; each round looks one level deeper into the dependencies.
complete_libs() {
    local round name
    [ -n "$(missing_libs)" ] || return 0
    update_lists "$suite" "$codename"
    for round in 1 2 3 4 5; do
        for name in $(missing_depends); do unpack_package "$name" || true; done
        [ -n "$(missing_libs)" ] || return 0
    done
    fail "cannot find the libraries $(missing_libs | paste -sd' ')"
}

write_wrappers() {
    local tool libs
    libs=$(lib_path)
    mkdir -p "$dir/bin"
    for tool in qemu-img qemu-io qemu-nbd; do
        {
            echo '#!/bin/sh'
            [ -z "$libs" ] || echo "export LD_LIBRARY_PATH='$libs'\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}"
            echo "exec '$dir/root/usr/bin/$tool' \"\$@\""
        } >"$dir/bin/$tool"
        chmod 755 "$dir/bin/$tool"
    done
}

mkdir -p "$dir" || fail "cannot make the folder $dir"
dir=$(cd "$dir" && pwd)
case $dir in *[\'\"\;]*) fail "the folder's name has a quote or semicolon in it: $dir" ;; esac
exec 9>"$dir/lock"
flock -w 900 9 || fail "another run holds $dir/lock"

if is_complete; then echo "$dir"; exit 0; fi
for tool in apt-get dpkg-deb dpkg-query; do
    command -v "$tool" >/dev/null || skip "$tool is not there: only Debian systems can fetch the reference"
done

rm -rf "$dir/root" "$dir/bin" "$dir/debs" "$dir/apt" "$dir/complete"
setup_apt
codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
suite=$codename
if [ "$codename" = bookworm ]; then suite=bookworm-backports; fi
# The security archive has the suite under another name (or path), so the first that carries the plain codename is it.
IFS=$'\t' read -r archive signed_by < <(debian_archives | grep -v -- '-security' | head -n1) ||
    skip "no Debian archive for $codename in the apt sources of this machine"
update_lists "$suite"
unpack_package "qemu-utils/$suite" || skip "cannot download qemu-utils of $suite: $(head -n1 "$dir/apt/log")"
complete_libs
write_wrappers
version=$("$dir/bin/qemu-img" --version | sed -n '1s/^qemu-img version \([0-9.]*\).*/\1/p')
case $version in
$want.*) ;;
*) fail "$suite has version ${version:-unknown} of the tools, not $want" ;;
esac
rm -rf "$dir/debs" "$dir/apt"
echo "$version" >"$dir/complete"
echo "$dir"
