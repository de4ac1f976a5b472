#!/bin/bash
# SPDX-License-Identifier: MIT
#
# scripts/test.sh [--quick] [--stage NAME]... [--jobs N]: build the tree and run its tests.
#
# The last line is the count of all: "N passed, N failed, N skipped". Exit status 1 if anything failed. What is skipped
# is said with the reason. --stage runs only the stages named (they build what they need); --quick leaves out the
# clang and sanitizer builds and shortens the random tests.
set -u -o pipefail
export LC_ALL=C

tree=$(cd "$(dirname "$0")/.." && pwd)
cd "$tree" || exit 1
stages="deps build unit reference iotests interop random crash clang asan tsan"
quick=no jobs=2 only=

usage() { sed -n '3,9s/^# \{0,1\}//p' "$0"; echo "stages: $stages"; }
while [ $# -gt 0 ]; do
    case $1 in
    --quick) quick=yes ;;
    --stage) only="$only ${2:-}"; shift ;;
    --jobs) jobs=${2:-2}; shift ;;
    -h | --help) usage; exit 0 ;;
    *) echo "test.sh: unknown option $1" >&2; usage >&2; exit 1 ;;
    esac
    shift
done
for name in $only; do
    case " $stages " in *" $name "*) ;; *) echo "test.sh: no stage '$name'; there are: $stages" >&2; exit 1 ;; esac
done

# Unit tests that start threads, for the thread sanitizer.
thread_tests="co-lock coroutine event-loop thread-pool trace io io-pad crypt-io qcow2-cache qcow2-stress copy-order cipher"
# Tool tests that go through every module once, for the address sanitizer.
asan_iotests="001 005 008 009 012 014 016 017 023 025 026 027 031 032 033 039 040 044 052 057 058 059 060 110 112"

log=$(mktemp -d "${TMPDIR:-/tmp}/qblock-test-XXXXXX")
trap 'rm -rf "$log"' EXIT
passed=0 failed=0 skipped=0

count() { passed=$((passed + $1)); failed=$((failed + $2)); skipped=$((skipped + $3)); }

# limited SECONDS COMMAND...: nothing hangs the run.
limited() { timeout -k 10 "$@" </dev/null; }

# Add up the last "N passed, N failed[, N skipped]" of a runner whose output is in $1 and whose exit status is $2.
count_runner() {
    local line
    line=$(sed -nE 's/^([a-z-]+: )?([0-9]+ passed, [0-9]+ failed)(, ([0-9]+) skipped)?$/\2, 0\4 skipped/p' "$1" | tail -n 1)
    if [ -z "$line" ]; then
        if [ "$2" = 77 ]; then count 0 0 1; else echo "no result (exit status $2)"; count 0 1 0; fi
        return
    fi
    set -- $(tr -dc '0-9 ' <<<"$line") "$2"
    count "$1" "$2" "$((10#$3))"
    # A runner that fails without a failed test is itself broken.
    if [ "$2" = 0 ] && [ "$4" != 0 ] && [ "$4" != 77 ]; then echo "exit status $4"; count 0 1 0; fi
}

run_counted() { # SECONDS COMMAND...
    local rc
    limited "$@" 2>&1 | tee "$log/runner"
    rc=${PIPESTATUS[0]}
    [ "$rc" != 124 ] && [ "$rc" != 137 ] || echo "no end after $1 s: ${*:2}"
    count_runner "$log/runner" "$rc"
}

# build_in FOLDER [meson words]: configure once, compile.
build_in() {
    local dir=$1
    shift
    if [ ! -e "$dir/build.ninja" ]; then
        limited 300 meson setup "$dir" -Dtests=enabled "$@" >"$log/meson" 2>&1 || { tail -n 30 "$log/meson"; count 0 1 0; return 1; }
    fi
    limited 1800 ninja -C "$dir" -j "$jobs" >"$log/ninja" 2>&1 || { grep -vE '^\[[0-9]+/' "$log/ninja" | tail -n 60; count 0 1 0; return 1; }
}

# meson_tests FOLDER words of meson test...: counts the checks inside the libcheck programs, and each other test as one.
meson_tests() {
    local dir=$1 rc
    shift
    limited 1500 meson test -C "$dir" --no-rebuild --num-processes "$jobs" --print-errorlogs "$@" >"$log/unit" 2>&1
    rc=$?
    python3 - "$dir/meson-logs/testlog.json" "$rc" >"$log/counts" <<'PY'
import json, re, sys
passed = failed = skipped = 0
try:
    lines = open(sys.argv[1]).read().splitlines()
except OSError:
    lines = []
for line in lines:
    test = json.loads(line)
    result, out = test['result'], test.get('stdout') or ''
    suites = re.findall(r'^\d+%: Checks: (\d+), Failures: (\d+), Errors: (\d+)', out, re.M)
    checks = sum(int(c) for c, _, _ in suites)
    bad = sum(int(f) + int(e) for _, f, e in suites)
    if result == 'SKIP':
        skipped += 1
        print(f'{test["name"]}: skipped: {out.strip().splitlines()[-1] if out.strip() else "no reason given"}')
    elif result in ('OK', 'EXPECTEDFAIL'):
        passed += max(checks, 1)
    else:
        passed += checks - bad
        failed += max(bad, 1)
        print(f'{test["name"]}: {result}')
if not lines:
    failed += 1
print(f'{passed} passed, {failed} failed, {skipped} skipped')
PY
    [ "$rc" = 0 ] || sed -n '/^[0-9 ]*\/[0-9 ]*.*\(FAIL\|TIMEOUT\|ERROR\)/,$p' "$log/unit" | head -n 200
    cat "$log/counts"
    count_runner "$log/counts" "$rc"
}

has_reference() { [ -x .reference/bin/qemu-img ]; }

stage_deps() {
    scripts/deps.sh --test || { echo "some packages are missing; going on without them"; count 0 0 1; }
}

stage_build() { build_in build && count 1 0 0; }

stage_unit() {
    build_in build || return
    meson_tests build --suite unit --suite style --suite fuzz
}

stage_reference() {
    local rc=0
    limited 900 scripts/reference.sh || rc=$?
    case $rc in
    0) count 1 0 0 ;;
    77) echo "skipped: without the reference 10.0"; count 0 0 1 ;;
    *) count 0 1 0 ;;
    esac
}

stage_iotests() {
    build_in build || return
    local words="-j$jobs"
    [ $quick = no ] || words="$words -g quick"
    run_counted 1200 tests/qemu-iotests/check $words
}

stage_interop() {
    build_in build || return
    run_counted 900 tests/interop/images.sh
    run_counted 600 tests/interop/luks-matrix.sh
    run_counted 600 tests/interop/target-matrix.py
    # Exact output is that of release 10.0 alone.
    if has_reference; then
        run_counted 600 tests/interop/tool-output.sh
    else
        echo "skipped: tool-output.sh: needs the reference 10.0"
        count 0 0 1
    fi
    meson_tests build --suite interop
}

stage_random() {
    build_in build || return
    local seeds=200
    [ $quick = no ] || seeds=20
    if has_reference; then
        run_counted 900 tests/interop/random-ops.py --seeds $seeds -j "$jobs"
    else
        echo "skipped: random-ops: needs the reference 10.0"
        count 0 0 1
    fi
    run_counted 900 tests/interop/target-ops.py --seeds $seeds -j "$jobs"
}

stage_crash() {
    build_in build || return
    local points=500
    [ $quick = no ] || points=64
    run_counted 900 tests/crash/crash.py --points $points -j "$jobs"
    run_counted 300 tests/crash/crash.py --prove --points 64 -j "$jobs"
    run_counted 300 tests/crash/amend.py -j "$jobs"
    run_counted 300 tests/crash/amend.py --prove -j "$jobs"
}

stage_clang() {
    command -v clang >/dev/null || { echo "skipped: no clang"; count 0 0 1; return; }
    CC=clang build_in build-clang || return
    meson_tests build-clang --suite unit
}

stage_asan() {
    build_in build-asan -Db_sanitize=address,undefined || return
    export ASAN_OPTIONS=detect_leaks=1:abort_on_error=0 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
    meson_tests build-asan --suite unit --suite fuzz --timeout-multiplier 4
    run_counted 1200 tests/qemu-iotests/check -j "$jobs" --tools build-asan/tools $asan_iotests
    unset ASAN_OPTIONS UBSAN_OPTIONS
}

stage_tsan() {
    build_in build-tsan -Db_sanitize=thread || return
    export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1
    local name there=
    for name in $thread_tests; do
        if [ -x "build-tsan/tests/unit/test-$name" ]; then
            there="$there $name"
        else
            echo "no unit test $name: mend the list in test.sh"
            count 0 1 0
        fi
    done
    meson_tests build-tsan --timeout-multiplier 6 $there
    unset TSAN_OPTIONS
}

for name in $stages; do
    if [ -n "$only" ]; then
        case " $only " in *" $name "*) ;; *) continue ;; esac
    elif [ $quick = yes ]; then
        case $name in clang | asan | tsan) continue ;; esac
    fi
    echo "== $name"
    begin=$(date +%s) before=$failed
    "stage_$name"
    echo "== $name: $(($(date +%s) - begin)) s$([ "$failed" = "$before" ] || echo ", $((failed - before)) failed")"
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
