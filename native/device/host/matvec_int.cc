// Chooses the variant of the integer kernel once for the process.
#include "device/host/matvec_int.h"

#include "base/cpu_features.h"
#include "device/host/matvec_int_kernels.h"

namespace rota {
namespace {

MatvecIntFn best_variant() {
  if (cpu_features().avx512) return matvec_int_avx512;
  return cpu_features().avx2 ? matvec_int_avx2 : matvec_int_portable;
}

}  // namespace

void matvec_int_rows(Format f, const void* w, size_t out_begin, size_t out_end, size_t k,
                     const void* const* x, int rows, float* const* y) {
  static const MatvecIntFn variant = best_variant();
  variant(f, w, out_begin, out_end, k, x, rows, y);
}

}  // namespace rota
