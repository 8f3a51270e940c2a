#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What the built library is as a file: its exports, what it needs, how it is linked. A library that is
# preloaded into every program of a job must be dull in each of these respects.
# Environment: BUILD (default build), CC, READELF, NM.
set -uo pipefail
export LC_ALL=C
cd "$(dirname "$0")/../.."
build=${BUILD:-build}
library=$build/librankshare.so
readelf=${READELF:-readelf} nm=${NM:-nm}
passed=0 failed=0 skipped=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

ok() {
    printf 'ok    %s\n' "$1"
    passed=$((passed + 1))
}
# bad WHAT [DETAIL]
bad() {
    printf 'FAIL  %s\n' "$1"
    [ -z "${2:-}" ] || sed 's/^/        /' <<<"$2"
    failed=$((failed + 1))
}
# empty WHAT LIST: LIST names the offenders.
empty() {
    if [ -z "$2" ]; then ok "$1"; else bad "$1" "$2"; fi
}
finish() {
    printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
    [ "$failed" -eq 0 ]
    exit
}

if [ ! -f "$library" ]; then
    bad "$library exists"
    finish
fi

sed -n 's/^RS_\(HOOK\|CUDA\)(\([A-Za-z0-9_]*\),.*/\2/p' shim/hook/hooks.def shim/hook/cuda_api.def | sort >"$work/hooks"
# Everything dynamic that is defined, whatever its type: an exported variable counts as well. A version
# node of its own would show up here, too.
"$nm" -D --defined-only "$library" >"$work/defined"
awk '{print $3}' "$work/defined" | sort >"$work/exports"
"$nm" -D --undefined-only "$library" >"$work/undefined"
"$readelf" -dW "$library" >"$work/dynamic"
"$readelf" -lW "$library" >"$work/segments"
"$readelf" -rW "$library" >"$work/relocations"

if [ -s "$work/hooks" ] && [ -s "$work/relocations" ] && [ -s "$work/segments" ]; then
    ok 'the lists of hooks, relocations and segments could be read'
else
    bad 'the lists of hooks, relocations and segments could be read'
fi
empty "exports: exactly the $(wc -l <"$work/hooks") names of hooks.def and cuda_api.def" "$(diff "$work/hooks" "$work/exports")"
empty 'exports: functions only' "$(awk '$2 != "T"' "$work/defined")"
empty 'no hook twice' "$(uniq -d "$work/hooks")"

empty 'DT_NEEDED: libc alone (the loader and libdl may stand beside it)' \
    "$(sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' "$work/dynamic" | grep -vE '^(libc\.so\.6|libdl\.so\.2|ld-linux.*\.so\.[0-9]+)$')"
if grep -q '(NEEDED).*\[libc\.so\.6\]' "$work/dynamic"; then ok 'DT_NEEDED: libc is there'; else bad 'DT_NEEDED: libc is there'; fi
empty 'no search path of its own (RPATH, RUNPATH)' "$(grep -E '\((RPATH|RUNPATH)\)' "$work/dynamic")"

# Every undefined symbol carries a glibc version. Weak ones without are what the compiler's start-up
# files leave, and Python's table, which exists in Pythons alone.
empty "no undefined symbol but libc's" \
    "$(awk '$1 == "w" && $2 ~ /^(PyImport_Inittab|_dl_find_object|_ITM_.*TMCloneTable|__gmon_start__)$/ {next} $2 !~ /@GLIBC_/' "$work/undefined")"

# A call of our own to an exported name would go through a hook, and with another interposer in front of
# us through that.
awk 'NF >= 5 && $1 ~ /^[0-9a-f]+$/ {sub(/@.*/, "", $5); print $5}' "$work/relocations" | sort -u >"$work/relocated"
empty 'no relocation names an exported function' "$(comm -12 "$work/exports" "$work/relocated")"
# -Bsymbolic-functions binds such calls at link time, where no relocation shows them: look at the objects.
mapfile -t objects < <(find "$build/shim" -name '*.o')
if [ "${#objects[@]}" -eq 0 ]; then
    bad 'the objects of the library are there'
else
    "$nm" -u "${objects[@]}" | awk 'NF == 2 && $1 == "U" {print $2}' | sort -u >"$work/called"
    empty "no object of ours (${#objects[@]}) calls a hook by name" "$(comm -12 "$work/hooks" "$work/called")"
fi

# libelf is somebody else's code: what it would call of libc is listed here, the rest was renamed.
"$nm" -u "$build/libelf.o" 2>/dev/null | awk '{print $2}' >"$work/libelf"
if [ -s "$work/libelf" ]; then ok 'libelf.o could be read'; else bad 'libelf.o could be read'; fi
empty 'libelf: no memory, no file and no end of the process' \
    "$(grep -vE '^(rs_(libelf|arena)_[a-z0-9_]*|mem(c?cpy|r?chr|cmp|move|set)|mempcpy|__mem[a-z]*_chk|str[a-z]*|_*longjmp(_chk)?|__errno_location|__ctype_b_loc|__stack_chk_fail|__longjmp_chk|pthread_rwlock_[a-z]*|_GLOBAL_OFFSET_TABLE_)$' "$work/libelf")"

empty 'no text relocations' "$(grep -E 'TEXTREL' "$work/dynamic")"
if grep -q GNU_RELRO "$work/segments"; then ok 'RELRO segment'; else bad 'RELRO segment'; fi
if grep -qE 'BIND_NOW|FLAGS_1.*NOW' "$work/dynamic"; then ok 'bound at load time (NOW)'; else bad 'bound at load time (NOW)'; fi
if grep -qE 'FLAGS_1.*INITFIRST' "$work/dynamic"; then ok 'initialised first (INITFIRST)'; else bad 'initialised first (INITFIRST)'; fi
if grep -qE 'FLAGS_1.*NODELETE' "$work/dynamic"; then ok 'never unloaded (NODELETE)'; else bad 'never unloaded (NODELETE)'; fi
stack=$(awk '$1 == "GNU_STACK" {print $(NF - 1)}' "$work/segments")
if [ "$stack" = RW ]; then ok 'no executable stack'; else bad 'no executable stack' "flags: $stack"; fi
empty 'no segment both writable and executable' "$(awk '$1 == "LOAD" && /RWE/' "$work/segments")"

tls=$(awk '$1 == "TLS" {print $6}' "$work/segments")
if [ $((${tls:-0})) -le 288 ]; then ok "thread-local storage: $((${tls:-0})) bytes (288 at most)"; else bad "thread-local storage: $((tls)) bytes (288 at most)"; fi
# __tls_get_addr may allocate, in the middle of somebody's malloc.
empty 'thread-local storage: initial-exec' "$(grep -E '__tls_get_addr|_dl_tlsdesc|DTPMOD|TLSDESC' "$work/undefined" "$work/relocations")"

floor=$(grep -Eo 'GLIBC_[0-9.]+' "$work/undefined" | sort -uV | tail -n 1)
if [ -n "$floor" ]; then ok "needs ${floor/_/ } or later"; else bad 'needs some glibc version'; fi

# dlopen of the library after other libraries have taken their thread-local storage.
if python3 - "$library" <<'P' 2>"$work/dlopen"; then ok 'dlopen works, too'; else bad 'dlopen works, too' "$(cat "$work/dlopen")"; fi
import ctypes, os, sys
ctypes.CDLL(os.path.abspath(sys.argv[1]))
P
finish
