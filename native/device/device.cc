// The steps of a layer for devices that do their operations one by one.
#include "device/device.h"

namespace rota {

void Device::linear_pair(const Matrix& first, const Matrix& second, DevPtr<const float> x, int rows,
                         DevPtr<float> y_first, DevPtr<float> y_second) {
  linear(first, x, rows, y_first);
  linear(second, x, rows, y_second);
}

void Device::hc_enter(const HcStream& stream, const HcMix& mix, DevPtr<const float> collapse,
                      DevPtr<const float> norm, int rows, DevPtr<float> x) {
  const HcParams& params = stream.params;
  linear(*mix.fn, stream.h, rows, mix.mix);
  hc_coefficients(params, stream.h, stream.dim, mix.mix, mix.base, mix.scale, rows, stream.pre,
                  stream.post, stream.comb);
  hc_collapse(stream.h, collapse, rows, params.mult, stream.dim, x);
  rms(x, norm, rows, stream.dim, params.rms_eps, x);
}

void Device::hc_leave(const HcStream& stream, DevPtr<float> y, DevPtr<const float> addend,
                      int rows) {
  if (addend) add(addend, static_cast<size_t>(rows) * static_cast<size_t>(stream.dim), y);
  hc_expand(stream.h, y, stream.post, stream.comb, rows, stream.params.mult, stream.dim);
}

void Device::rms_rope(DevPtr<float> x, DevPtr<const float> w, int rows, int dim, float eps,
                      const Rotation& rotation, int first_position, int step) {
  rms(x, w, rows, dim, eps, x);
  rope(x, rows, 1, dim, rotation.freq, rotation.pairs, first_position, step, false);
}

void Device::rotated_attention(const AttentionArgs& args, DevPtr<float> q,
                               const Rotation& rotation) {
  rope(q, args.rows, args.heads, args.head_dim, rotation.freq, rotation.pairs, args.first_position,
       1, false);
  attention(args);
  rope(args.out, args.rows, args.heads, args.head_dim, rotation.freq, rotation.pairs,
       args.first_position, 1, true);
}

}  // namespace rota
