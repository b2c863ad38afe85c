// A pair of neighbouring channels turned by its position's angle. Device code alone.
#pragma once

namespace rota {

struct Turn {
  float sine, cosine;
};

// angle = fp32(position * freq)
__device__ __forceinline__ Turn turn_of(int position, float freq, bool inverse) {
  Turn turn;
  sincosf(static_cast<float>(position) * freq, &turn.sine, &turn.cosine);
  if (inverse) turn.sine = -turn.sine;
  return turn;
}

__device__ __forceinline__ float2 turned(float a, float b, const Turn& turn) {
  return {__fsub_rn(__fmul_rn(a, turn.cosine), __fmul_rn(b, turn.sine)),
          __fadd_rn(__fmul_rn(a, turn.sine), __fmul_rn(b, turn.cosine))};
}

// Where the two channels are in neighbouring lanes, channel d being this lane's: all lanes of the
// warp call. Channels before `first` stay.
__device__ __forceinline__ float turned_in_lanes(float value, int d, int dim, int first,
                                                 int position, const float* freq, bool inverse) {
  const float other = __shfl_xor_sync(0xffffffffu, value, 1);
  if (d < first || d >= dim) return value;
  const bool odd = d % 2 != 0;
  const float2 both = turned(odd ? other : value, odd ? value : other,
                             turn_of(position, freq[(d - first) / 2], inverse));
  return odd ? both.y : both.x;
}

}  // namespace rota
