#!/usr/bin/env bash
# Builds the native half for an NVIDIA GPU, tests it and measures it, on a machine that has a compiler, CUDA and nothing else.
# usage: [ROTA_HEADERS_DIR=FOLDER] native/gpu.sh [PART...]      without a part: all of them, in this order
#   test      the rooms' tests on the GPU                                    up to 120 s
#   sanitise  compute-sanitizer over the tests of the smallest models         up to 300 s
#   kernels   the dense linears and the experts, beside the GPU's own copy    up to 120 s
#   shape     the released model's shape in decode, from a tmpfs              up to 300 s
# FOLDER holds doctest/ and nlohmann/ where the system has no packages of them. BUILD_DIR names a build that is there already.
# ROTA_SHAPE_LAYERS (24), ROTA_SHAPE_SLOTS (2573x), ROTA_SHAPE_DIR (/dev/shm) say what shape measures; 24 layers are 100 GB of memory.
# Not yet run as a whole on a GPU: what test, kernels and shape do has been, command by command.
# Each part has its own limit of time. Ends with 1 when one failed or ran out of it.
set -uo pipefail
native=$(cd "$(dirname "$0")" && pwd)
build=${BUILD_DIR:-"$native/build/cuda"}
failed=0
export ROTA_NEEDS_GPU=1

# step NAME SECONDS COMMAND...: what it printed, how long it took, and whether it failed.
step() {
  local name=$1 limit=$2 begin=$SECONDS code
  shift 2
  echo "## $name"
  timeout "$limit" "$@"
  code=$?
  echo "## $name: exit $code after $((SECONDS - begin)) s"
  [ "$code" -eq 0 ] || failed=1
}

build_all() {
  local generator=()
  [ -f "$build/CMakeCache.txt" ] || ! command -v ninja >/dev/null || generator=(-G Ninja)
  (cd "$native" && cmake --preset cuda -B "$build" "${generator[@]}" ${ROTA_HEADERS_DIR:+-DROTA_HEADERS_DIR="$ROTA_HEADERS_DIR"}) >"$build.log" 2>&1 &&
    cmake --build "$build" -j "$(nproc)" --target rota-strata rota-model rota-bench rota-probe device_cuda_test model_cuda_test \
      experts_cuda_test engines_cuda_test probe_cuda_test >>"$build.log" 2>&1 && return
  grep -m 5 -E 'error|Error' "$build.log"
  return 1
}

run_tests() {
  local bad=0
  for room in device model experts engines probe; do
    # From where ctest runs them: some read files of the tree beside them.
    (cd "$native" && "$build/${room}_cuda_test" --no-colors=true | grep -E 'waived|TEST CASE|ERROR|test cases') || bad=1
  done
  return $bad
}

# Every access of every kernel: only what is small. The slow rooms are tried on their smallest models.
sanitise() {
  local bad=0 tool room
  for tool in memcheck racecheck synccheck; do
    for room in experts engines model; do
      echo "# $tool $room"
      (cd "$native" && timeout 100 compute-sanitizer --tool "$tool" --error-exitcode 9 --print-limit 5 \
        "$build/${room}_cuda_test" --no-colors=true -tc="*mini*,*placement*,*arena*" | grep -E '=========|test cases|ERROR' | tail -8) || bad=1
    done
  done
  return $bad
}

kernels() {
  "$build/bin/rota-bench" kernels --device cuda:0 && "$build/bin/rota-bench" experts
}

shape() {
  local layers=${ROTA_SHAPE_LAYERS:-24} slots=${ROTA_SHAPE_SLOTS:-2573x} folder
  folder=$(mktemp -d "${ROTA_SHAPE_DIR:-/dev/shm}/rota-shape.XXXXXX") || return 1
  # shellcheck disable=SC2064  # the folder as it is now
  trap "rm -rf '$folder'" EXIT
  local model="$folder/flash.gguf" drive="$native/bench/drive_strata.py"
  "$build/bin/rota-model" synth --config v4.1-flash --layers "$layers" --check-memory off --out "$model" >/dev/null || return 1
  local engine=("$build/bin/rota-strata" "$model" --device cuda:0 --rank "$folder/flash.rank" --slots "$slots")
  local bad=0
  python3 "$drive" --seconds 45 "${engine[@]}" --depth 0 || bad=1
  python3 "$drive" --seconds 45 "${engine[@]}" --depth 5 --conf 0 --assume-accept 0.8 || bad=1
  return $bad
}

nvidia-smi --query-gpu=name,driver_version --format=csv,noheader || exit 1
mkdir -p "$(dirname "$build")"
step build 300 bash -c "$(declare -f build_all); native='$native' build='$build'; build_all"
[ "$failed" -eq 0 ] || exit 1
for part in "${@:-test sanitise kernels shape}"; do
  for name in $part; do
    case $name in
      test) step "$name" 120 bash -c "$(declare -f run_tests); native='$native' build='$build'; run_tests" ;;
      sanitise) step "$name" 300 bash -c "$(declare -f sanitise); native='$native' build='$build'; sanitise" ;;
      kernels) step "$name" 120 bash -c "$(declare -f kernels); native='$native' build='$build'; kernels" ;;
      shape) step "$name" 300 bash -c "$(declare -f shape); native='$native' build='$build'; shape" ;;
      *)
        echo "no part is called $name: test, sanitise, kernels, shape" >&2
        exit 2
        ;;
    esac
  done
done
exit $failed
