#!/bin/sh
# Builds everything native with each sanitizer and runs every native test under it. Owns the options of the sanitizers; needs
# no Node. Ends with 0 when every room is clean, 1 when one is not, 2 for a mistake on the command line, 3 when it does not build.
# usage: native/sanitise.sh [--only asan|tsan] [--jobs N]
#   --only   one of them; asan has UBSan with it
#   --jobs   compilers and tests at once (default: cores, but one for each 2 GiB that is free)
# ROTA_HEADERS_DIR names a folder with doctest/ and nlohmann/ where the system has no packages for them.
set -u
cd "$(dirname "$0")" || exit 3

usage() {
  sed -n '4,6s/^# //p' sanitise.sh >&2
  exit 2
}

kinds="asan tsan"
jobs=""
while [ $# -gt 0 ]; do
  case "$1" in
    --only) [ $# -ge 2 ] || usage; kinds="$2"; shift 2 ;;
    --jobs) [ $# -ge 2 ] || usage; jobs="$2"; shift 2 ;;
    *) usage ;;
  esac
done
case "$kinds" in asan | tsan | "asan tsan") ;; *) usage ;; esac
if [ -z "$jobs" ]; then
  free=$(awk '/^MemAvailable:/ { print int($2 / 2097152) }' /proc/meminfo)
  jobs=$(nproc)
  [ "$free" -lt "$jobs" ] && jobs=$free
  [ "$jobs" -lt 1 ] && jobs=1
fi

# Tests ask for more memory than there is and expect a refusal, not the end of the process.
export ASAN_OPTIONS="allocator_may_return_null=1:detect_stack_use_after_return=1:strict_string_checks=1"
export UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1"
export TSAN_OPTIONS="allocator_may_return_null=1:halt_on_error=1:second_deadlock_stack=1"

configure_and_build() {
  generator=""
  [ -f "build/host-$1/CMakeCache.txt" ] || { ninja --version >/dev/null 2>&1 && generator="-G Ninja"; }
  # shellcheck disable=SC2086  # the generator is two words or none
  cmake --preset "host-$1" $generator ${ROTA_HEADERS_DIR:+"-DROTA_HEADERS_DIR=$ROTA_HEADERS_DIR"} &&
    cmake --build "build/host-$1" -j "$jobs"
}

bad=0
for kind in $kinds; do
  log="build/sanitise-$kind.log"
  mkdir -p build
  begin=$(date +%s)
  if ! configure_and_build "$kind" >"$log" 2>&1; then
    grep -m 5 -E 'error:|Error' "$log" >&2
    echo "sanitise: $kind does not build; the whole log: native/$log" >&2
    exit 3
  fi
  echo "sanitise: $kind built in $(($(date +%s) - begin)) s"
  begin=$(date +%s)
  ctest --test-dir "build/host-$kind" -j "$jobs" --no-tests=error --output-on-failure --timeout 3600 >>"$log" 2>&1
  status=$?
  grep -E '^ *[0-9]+/[0-9]+ Test' "$log" | sed "s/^/sanitise: $kind /"
  if [ "$status" -ne 0 ]; then
    grep -m 20 -E 'ERROR: |SUMMARY: |WARNING: ThreadSanitizer|runtime error|TEST CASE:' "$log" >&2
    echo "sanitise: $kind FAILED after $(($(date +%s) - begin)) s; the whole log: native/$log" >&2
    bad=1
  else
    echo "sanitise: $kind clean in $(($(date +%s) - begin)) s"
  fi
done
exit $bad
