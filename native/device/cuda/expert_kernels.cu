// How a layer call is cut into launches, and the scratch between them.
#include "device/cuda/expert_kernels.cuh"

#include <algorithm>

#include "base/check.h"
#include "device/cuda/expert_plain_passes.cuh"

namespace rota {
namespace {

template <typename... Parameters, typename... Arguments>
void launch_after(CudaStream& stream, dim3 grid, int threads, int shared,
                  void (*kernel)(Parameters...), const char* what, Arguments... arguments) {
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = dim3(static_cast<unsigned>(threads));
  config.dynamicSmemBytes = static_cast<size_t>(shared);
  config.stream = stream.use();
  config.attrs = &early;
  config.numAttrs = 1;
  stream.note(cudaLaunchKernelEx(&config, kernel, arguments...), what);
}

size_t pairs_of(const CudaExpertShape& s) {
  return static_cast<size_t>(s.max_rows) * static_cast<size_t>(s.top_k);
}

// Byte offsets of the parts of the scratch, each 256-aligned.
struct Scratch {
  size_t x_split, hidden_split, x_unscale, hidden_unscale, hidden, partial, bytes = 0;
  explicit Scratch(const CudaExpertShape& s) {
    const auto take = [this](size_t size) {
      const size_t at = bytes;
      bytes += (size + 255) / 256 * 256;
      return at;
    };
    const auto rows = static_cast<size_t>(s.max_rows), pairs = pairs_of(s);
    const auto dim = static_cast<size_t>(s.dim), inter = static_cast<size_t>(s.inter);
    x_split = take(rows * dim * 4);
    hidden_split = take(pairs * inter * 4);
    x_unscale = take(rows * 4);
    hidden_unscale = take(pairs * 4);
    hidden = take(pairs * inter * 4);
    partial = take(pairs * dim * 4);
  }
};

// Of a matrix in a blob: what a kernel's parameters say of it.
ExpertCallMatrix matrix(Format format, uint64_t offset, int k) {
  ExpertCallMatrix m{};
  m.offset = static_cast<uint32_t>(offset);
  m.format = static_cast<uint8_t>(format);
  if (is_plain(format)) return m;
  const FormatInfo& info = format_info(format);
  const uint32_t row = static_cast<uint32_t>(k) / info.block_weights * info.block_bytes;
  const auto piece = static_cast<uint32_t>(piece_bytes(format));
  m.row_bytes = static_cast<uint16_t>(row);
  m.piece_bytes = static_cast<uint8_t>(piece);
  m.pieces = static_cast<uint16_t>((row + piece - 1) / piece);
  return m;
}

// Blocks of a kernel that a processor holds at once, with the shared memory that they ask for.
template <typename Kernel>
int blocks_at_once(CudaStream& stream, Kernel kernel, int shared) {
  int blocks = 0;
  CUDA_CHECK(stream,
             cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
  CUDA_CHECK(stream, cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, kThreads,
                                                                   static_cast<size_t>(shared)));
  return blocks;
}

}  // namespace

uint64_t ExpertKernels::scratch_bytes(const CudaExpertShape& shape) { return Scratch(shape).bytes; }

Result<std::unique_ptr<ExpertKernels>> ExpertKernels::create(CudaStream& stream,
                                                             const CudaExpertShape& shape) {
  if (shape.dim % 32 != 0 || shape.inter % 32 != 0) {
    return Status(Code::kLoad, "experts of " + std::to_string(shape.dim) + " x " +
                                   std::to_string(shape.inter) +
                                   ": on a GPU both must be multiples of 32");
  }
  std::unique_ptr<ExpertKernels> kernels(new ExpertKernels(stream, shape));
  const Scratch at(shape);
  ROTA_ASSIGN_OR_RETURN(void* memory, stream.allocate(at.bytes, "the experts' scratch"));
  kernels->memory_ = static_cast<uint8_t*>(memory);
  const auto part = [&](size_t offset) { return static_cast<void*>(kernels->memory_ + offset); };
  kernels->x_split_ = static_cast<uint4*>(part(at.x_split));
  kernels->hidden_split_ = static_cast<uint4*>(part(at.hidden_split));
  kernels->x_unscale_ = static_cast<float*>(part(at.x_unscale));
  kernels->hidden_unscale_ = static_cast<float*>(part(at.hidden_unscale));
  kernels->hidden_ = static_cast<float*>(part(at.hidden));
  kernels->partial_ = static_cast<float*>(part(at.partial));
  stream.use();
  kernels->resident_[0] =
      std::min(blocks_at_once(stream, gate_up_kernel<1>, SharedParts<1>::kBytes),
               blocks_at_once(stream, down_kernel<1>, SharedParts<1>::kBytes));
  kernels->resident_[1] =
      std::min(blocks_at_once(stream, gate_up_kernel<2>, SharedParts<2>::kBytes),
               blocks_at_once(stream, down_kernel<2>, SharedParts<2>::kBytes));
  kernels->resident_[2] =
      std::min(blocks_at_once(stream, gate_up_kernel<4>, SharedParts<4>::kBytes),
               blocks_at_once(stream, down_kernel<4>, SharedParts<4>::kBytes));
  ROTA_RETURN_IF_ERROR(stream.status());
  return Result<std::unique_ptr<ExpertKernels>>(std::move(kernels));
}

ExpertKernels::~ExpertKernels() { stream_.release(memory_); }

void ExpertKernels::begin(const float* x, int rows) {
  ROTA_CHECK(rows <= shape_.max_rows, "rows", rows);
  x_ = x;
  launch_after(stream_, dim3(static_cast<unsigned>(rows)), 256, 0, split_kernel, "splitting rows",
               x, shape_.dim, x_split_, x_unscale_);
}

// Jobs as they fit into a launch's parameters, those of many pairs in several parts.
void ExpertKernels::compute(std::span<const CudaExpertJob> jobs, const float* weights) {
  // Each kind of product has a kernel for plain matrices and one for the others; so experts that
  // need the same two go together.
  for (const bool plain_gate : {false, true}) {
    for (const bool plain_down : {false, true}) {
      ExpertCall call;
      call.count = 0;
      int pairs = 0, most = 0;
      const auto flush = [&] {
        if (call.count > 0) launch(call, pairs, most, plain_gate, plain_down);
        call.count = pairs = most = 0;
      };
      for (const CudaExpertJob& job : jobs) {
        if ((is_plain(job.gate) || is_plain(job.up)) != plain_gate) continue;
        if (is_plain(job.down) != plain_down) continue;
        for (size_t begin = 0; begin < job.pairs.size(); begin += kJobPairs) {
          const int n = static_cast<int>(std::min<size_t>(kJobPairs, job.pairs.size() - begin));
          if (call.count == kCallJobs || pairs + n > kCallPairs) flush();
          call.jobs[call.count++] = {job.blob,
                                     matrix(job.gate, 0, shape_.dim),
                                     matrix(job.up, job.up_offset, shape_.dim),
                                     matrix(job.down, job.down_offset, shape_.inter),
                                     static_cast<uint16_t>(pairs),
                                     static_cast<uint8_t>(n)};
          for (int i = 0; i < n; ++i) {
            const int pair = job.pairs[begin + static_cast<size_t>(i)];
            call.pair[pairs] = pair;
            call.weight[pairs++] = weights[pair];
          }
          most = std::max(most, n);
        }
      }
      flush();
    }
  }
}

void ExpertKernels::launch(const ExpertCall& call, int pairs, int most, bool plain_gate,
                           bool plain_down) {
  const GateUpArgs in = {shape_.dim,
                         shape_.inter,
                         shape_.top_k,
                         shape_.limit,
                         x_split_,
                         x_unscale_,
                         splits_at_once() ? hidden_split_ : nullptr,
                         hidden_unscale_,
                         hidden_};
  const DownArgs out = {shape_.dim, shape_.inter, hidden_split_, hidden_unscale_, partial_};
  const auto count = static_cast<unsigned>(call.count);
  const int size = most <= 4 ? 0 : most <= 8 ? 1 : 2;
  constexpr int kBytes[] = {SharedParts<1>::kBytes, SharedParts<2>::kBytes, SharedParts<4>::kBytes};
  const auto blocks = [&](int tiles) {
    return dim3(static_cast<unsigned>(
        std::min(call.count * tiles, resident_[size] * stream_.processors())));
  };
  if (plain_gate) {
    const dim3 grid(static_cast<unsigned>(shape_.inter / kWarps), count);
    launch_after(stream_, grid, kThreads, 0, plain_gate_up_kernel, "plain gate and up", call, in,
                 x_);
  } else {
    constexpr decltype(&gate_up_kernel<1>) kKernels[] = {gate_up_kernel<1>, gate_up_kernel<2>,
                                                         gate_up_kernel<4>};
    launch_after(stream_, blocks(shape_.inter / 16), kThreads, kBytes[size], kKernels[size],
                 "gate and up", call, in);
  }
  if (!splits_at_once() && !(plain_down && !shape_.act_quant)) {
    GateUpArgs split = in;
    split.hidden = hidden_split_;
    const auto kernel = plain_down         ? round_hidden_kernel
                        : shape_.act_quant ? split_hidden_kernel<true>
                                           : split_hidden_kernel<false>;
    launch_after(stream_, dim3(static_cast<unsigned>(pairs)), 256, 0, kernel,
                 "splitting hidden rows", call, split);
  }
  if (plain_down) {
    const dim3 grid(static_cast<unsigned>(shape_.dim / kWarps), count);
    launch_after(stream_, grid, kThreads, 0, plain_down_kernel, "plain down", call, out,
                 static_cast<const float*>(hidden_));
  } else {
    constexpr decltype(&down_kernel<1>) kKernels[] = {down_kernel<1>, down_kernel<2>,
                                                      down_kernel<4>};
    launch_after(stream_, blocks(shape_.dim / 32), kThreads, kBytes[size], kKernels[size], "down",
                 call, out);
  }
}

void ExpertKernels::finish(int rows, float* y) {
  const dim3 grid(static_cast<unsigned>((shape_.dim + 127) / 128), static_cast<unsigned>(rows));
  launch_after(stream_, grid, 128, 0, sum_kernel, "summing experts",
               static_cast<const float*>(partial_), shape_.dim, shape_.top_k, y);
}

}  // namespace rota
