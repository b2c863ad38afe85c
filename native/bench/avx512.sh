#!/usr/bin/env bash
# Builds, tests and measures the native half on a machine that has a compiler and nothing else: no Node, no network, no packages.
# usage: [ROTA_HEADERS_DIR=FOLDER] native/bench/avx512.sh [LOG]
#   FOLDER holds doctest/ and nlohmann/ where the system has no packages of them
#   LOG    default native/bench/results/CPU.txt; what was printed, with the machine's description
# Takes up to 8 minutes. Ends with 1 when a test or a benchmark failed.
set -uo pipefail
native=$(cd "$(dirname "$0")/.." && pwd)
build="$native/build/avx512"
cpu=$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -1 | tr -cs 'A-Za-z0-9\n' '-' | sed 's/-$//')
log=${1:-"$native/bench/results/${cpu:-unknown-cpu}.txt"}
mkdir -p "$(dirname "$log")" "$build"
exec > >(sed -u "s#${native%/native}/##g" | tee "$log") 2>&1  # where it lies on this machine is nobody's matter
failed=0

# step NAME SECONDS COMMAND...: what it printed, how long it took, and whether it failed.
step() {
  local name=$1 limit=$2 begin=$SECONDS code
  shift 2
  echo "## $name: $(printf '%s ' "$@" | sed "s#${ROTA_HEADERS_DIR:-$native}#HEADERS#g; s#$native#native#g")"
  timeout "$limit" "$@"
  code=$?
  echo "## $name: exit $code after $((SECONDS - begin)) s"
  echo
  [ "$code" -eq 0 ] || failed=1
}

echo "# $(date -u +%Y-%m-%dT%H:%MZ)"
lscpu | grep -vE '^(Vulnerability|BogoMIPS|Hypervisor|Virtualization)'
free -g | sed -n 1,2p
c++ --version | head -1
cmake --version | head -1
echo "transparent huge pages: $(cat /sys/kernel/mm/transparent_hugepage/enabled 2>/dev/null || echo n/a)"
echo "load: $(cat /proc/loadavg)"
echo

generator=()
[ -f "$build/CMakeCache.txt" ] || ! command -v ninja >/dev/null || generator=(-G Ninja)
step configure 60 cmake -S "$native" -B "$build" "${generator[@]}" -DCMAKE_BUILD_TYPE=Release \
  ${ROTA_HEADERS_DIR:+-DROTA_HEADERS_DIR="$ROTA_HEADERS_DIR"}
echo "## build"
begin=$SECONDS
cmake --build "$build" --parallel "$(nproc)" --target base_test device_test experts_test bench_test rota-bench rota-probe \
  >"$build/build.log" 2>&1 || { tail -40 "$build/build.log"; echo "## build: failed"; exit 1; }
echo "## build: exit 0 after $((SECONDS - begin)) s"
echo

for test in base_test device_test bench_test; do step "$test" 120 "$build/$test"; done
# The same bits by every kernel that this processor has.
for kernels in auto avx2 portable; do
  step "experts_test, ROTA_CPU=$kernels" 120 env "ROTA_CPU=$kernels" "$build/experts_test"
done
step probe 30 "$build/bin/rota-probe"
step kernels 60 "$build/bin/rota-bench" kernels --seconds 0.2
step pool 330 "$build/bin/rota-bench" pool --rounds "${ROTA_ROUNDS:-7}"
step "pool, ROTA_CPU=avx2, one row" 120 env ROTA_CPU=avx2 "$build/bin/rota-bench" pool --rows 1 --rounds "${ROTA_ROUNDS:-7}"
step decode 120 "$build/bin/rota-bench" decode --dir "$build"
step neighbour 60 "$build/bin/rota-bench" neighbour --rounds 3
echo "# ends after $SECONDS s, failed: $failed"
exit "$failed"
