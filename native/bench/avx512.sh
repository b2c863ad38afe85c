#!/bin/sh
# What the CPU kernels do on this machine, in one command: builds, holds every variant to the portable one's bits, then one core's
# kernels and the whole pool beside the memory. Needs a C++ compiler and cmake; ROTA_HEADERS_DIR names doctest/ and nlohmann/ where
# the system has no packages for them. Arguments go to `rota-bench pool`.
set -eu
cd "$(dirname "$0")/.."
lscpu | grep -E 'Model name|^CPU\(s\)|MHz|L[123]' || true
grep -om1 -E 'avx512_vnni|avx512_vbmi |gfni' /proc/cpuinfo | sort -u | tr '\n' ' ' || true
echo
cmake --preset host ${ROTA_HEADERS_DIR:+-DROTA_HEADERS_DIR="$ROTA_HEADERS_DIR"} >/dev/null
cmake --build build/host -j "$(nproc)" --target device_test experts_test rota-bench | tail -1
./build/host/device_test | tail -3
for cpu in auto avx2 portable; do
  echo "experts, ROTA_CPU=$cpu"
  ROTA_CPU=$cpu ./build/host/experts_test | tail -3
done
./build/host/bin/rota-bench kernels --seconds 0.2
./build/host/bin/rota-bench pool "$@"
