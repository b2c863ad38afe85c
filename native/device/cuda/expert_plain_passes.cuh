// The same passes for jobs with a plain matrix of the kind (expert_plain.cuh): a warp an output
// row.
#pragma once

#include "device/cuda/expert_passes.cuh"

namespace rota {

// Grid: inter / kWarps, jobs. x are the layer's floats.
static __global__ void __launch_bounds__(kThreads)
    plain_gate_up_kernel(const __grid_constant__ ExpertCall call, GateUpArgs args, const float* x) {
  take_turn();
  const ExpertCallJob& job = call.jobs[blockIdx.y];
  const auto gate_format = static_cast<Format>(job.gate.format);
  const auto up_format = static_cast<Format>(job.up.format);
  const int i = static_cast<int>(blockIdx.x * kWarps + threadIdx.x / 32);
  for (int p = 0; p < job.pairs; ++p) {
    const int pair = call.pair[job.first + p];
    const float* row = x + static_cast<size_t>(pair / args.top_k) * static_cast<size_t>(args.dim);
    const float weight = call.weight[job.first + p];
    const float gate = plain_dot(gate_format, job.blob, i, args.dim, row);
    const float up = plain_dot(up_format, job.blob + job.up.offset, i, args.dim, row);
    if (threadIdx.x % 32 != 0) continue;
    args.hidden[static_cast<size_t>(pair) * static_cast<size_t>(args.inter) +
                static_cast<size_t>(i)] = swiglu(weight, gate, up, args.limit);
  }
}

// Grid: dim / kWarps, jobs.
static __global__ void __launch_bounds__(kThreads)
    plain_down_kernel(const __grid_constant__ ExpertCall call, DownArgs args, const float* hidden) {
  take_turn();
  const ExpertCallJob& job = call.jobs[blockIdx.y];
  const auto format = static_cast<Format>(job.down.format);
  const int o = static_cast<int>(blockIdx.x * kWarps + threadIdx.x / 32);
  for (int p = 0; p < job.pairs; ++p) {
    const auto pair = static_cast<size_t>(call.pair[job.first + p]);
    const float sum = plain_dot(format, job.blob + job.down.offset, o, args.inter,
                                hidden + pair * static_cast<size_t>(args.inter));
    if (threadIdx.x % 32 == 0) {
      args.partial[pair * static_cast<size_t>(args.dim) + static_cast<size_t>(o)] = sum;
    }
  }
}

// The pairs' hidden rows rounded to e4m3, as floats, for plain down matrices.
static __global__ void __launch_bounds__(256)
    round_hidden_kernel(const __grid_constant__ ExpertCall call, float* hidden, int inter) {
  take_turn();
  const auto pair = static_cast<size_t>(call.pair[blockIdx.x]);
  round_row(hidden + pair * static_cast<size_t>(inter), inter);
}

}  // namespace rota
