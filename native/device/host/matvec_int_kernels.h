// The variants of the integer kernel. Owns the choice between them; callers use matvec_int.h.
#pragma once

#include <cstddef>

#include "formats/block.h"

namespace rota {

// Same arguments as matvec_int_rows.
using MatvecIntFn = void (*)(Format f, const void* w, size_t out_begin, size_t out_end, size_t k,
                             const void* const* x, int rows, float* const* y);

void matvec_int_portable(Format f, const void* w, size_t out_begin, size_t out_end, size_t k,
                         const void* const* x, int rows, float* const* y);
// Only where the CPU has AVX2, FMA and F16C.
void matvec_int_avx2(Format f, const void* w, size_t out_begin, size_t out_end, size_t k,
                     const void* const* x, int rows, float* const* y);
// Only where the CPU has AVX-512 F, BW, VL, DQ, VNNI, VBMI and GFNI too.
void matvec_int_avx512(Format f, const void* w, size_t out_begin, size_t out_end, size_t k,
                       const void* const* x, int rows, float* const* y);

}  // namespace rota
