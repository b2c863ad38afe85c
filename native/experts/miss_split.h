// How many of a call's arena-held misses are copied to the device, when the machine decides: both
// sides work at once, and the later one is when the layer is done. Owns the formula; measures
// nothing.
#pragma once

namespace rota {

// Nanoseconds an expert: to bring it to the device, to compute it on the CPU.
struct MissCosts {
  double copy_ns = 0, cpu_ns = 0;
  bool known() const { return copy_ns > 0 && cpu_ns > 0; }
};

// The m of 0..misses with the smallest max(m * copy_ns, (misses - m) * cpu_ns); the smaller of
// equals, which moves fewer bytes.
int balanced_copies(int misses, const MissCosts& costs);

// The share at which many misses balance: m * copy_ns = (n - m) * cpu_ns.
double balanced_share(const MissCosts& costs);

}  // namespace rota
