// How a layer call is cut into launches, and the scratch between them.
#include "device/cuda/expert_kernels.cuh"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "device/cuda/early_launch.cuh"
#include "device/cuda/expert_layout.cuh"
#include "device/cuda/expert_plain_passes.cuh"

namespace rota {
namespace {

template <typename... Parameters, typename... Arguments>
void launch_after(CudaStream& stream, dim3 grid, int threads, int shared,
                  void (*kernel)(Parameters...), const char* what, Arguments... arguments) {
  launch_early(stream.queue(), kernel, grid, threads, static_cast<size_t>(shared), arguments...);
  stream.note_launch(what);
}

size_t pairs_of(const CudaExpertShape& s) {
  return static_cast<size_t>(s.max_rows) * static_cast<size_t>(s.top_k);
}

// Rows as integers: what both orders and their scales take.
struct IntegerSizes {
  size_t words, digits, unscale;
  IntegerSizes(size_t rows, int n)
      : words(rows * static_cast<size_t>(n / kChunk) * kChunkVectors * sizeof(uint4)),
        digits(rows * static_cast<size_t>(n / kChunk) * kDigitVectors * sizeof(uint4)),
        unscale(rows * static_cast<size_t>(n / kChunk) * sizeof(float)) {}
};

// Gives out parts of the scratch, each 256-aligned; without memory it counts bytes.
struct Scratch {
  uint8_t* memory;
  size_t bytes = 0;
  template <typename T>
  void take(size_t size, T*& part) {
    part = reinterpret_cast<T*>(memory + bytes);
    bytes += (size + 255) / 256 * 256;
  }
  void take(const IntegerSizes& sizes, IntegerRows& rows) {
    take(sizes.words, rows.words);
    take(sizes.digits, rows.digits);
    take(sizes.unscale, rows.unscale);
  }
};

size_t divide(const CudaExpertShape& s, Scratch at, ExpertScratch& parts) {
  const auto rows = static_cast<size_t>(s.max_rows), pairs = pairs_of(s);
  at.take(IntegerSizes(rows, s.dim), parts.x);
  at.take(IntegerSizes(pairs, s.inter), parts.hidden_integers);
  at.take(pairs * static_cast<size_t>(s.inter) * sizeof(float), parts.hidden);
  at.take(pairs * static_cast<size_t>(s.dim) * sizeof(float), parts.partial);
  return at.bytes;
}

// Of a matrix [out, k] in a blob: what a kernel's parameters say of it.
ExpertCallMatrix matrix(Format format, uint64_t offset, int out, int k) {
  ExpertCallMatrix m{};
  m.offset = static_cast<uint32_t>(offset);
  m.format = static_cast<uint8_t>(format);
  if (!is_laid_out(format, out, k)) return m;
  const FormatInfo& info = format_info(format);
  m.strip_bytes = static_cast<uint32_t>(16 * k) / info.block_weights * info.block_bytes;
  const auto piece = static_cast<uint32_t>(piece_bytes(format));
  m.piece_bytes = static_cast<uint16_t>(piece);
  m.pieces = static_cast<uint8_t>((m.strip_bytes + piece - 1) / piece);
  return m;
}

IntegerRows orders(const IntegerRows& rows, bool words, bool digits) {
  return {words ? rows.words : nullptr, digits ? rows.digits : nullptr, rows.unscale};
}

dim3 integer_grid(int n, int rows) {
  return dim3(static_cast<unsigned>((n / kChunk + kIntegerWarps - 1) / kIntegerWarps),
              static_cast<unsigned>(rows));
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

// The kernels by the columns that they have room for.
struct Size {
  int pairs;
  decltype(&gate_up_kernel<1>) gate_up;
  decltype(&down_kernel<1>) down;
  int shared_bytes;
};
template <int kTiles>
constexpr Size kSize = {2 * kTiles, gate_up_kernel<kTiles>, down_kernel<kTiles>,
                        SharedParts<kTiles>::kBytes};
constexpr std::array kSizes = {kSize<1>, kSize<2>, kSize<4>, kSize<8>};
static_assert(kSizes.back().pairs == kJobPairs);

}  // namespace

uint64_t ExpertKernels::scratch_bytes(const CudaExpertShape& shape) {
  ExpertScratch parts;
  return divide(shape, {nullptr}, parts);
}

Result<std::unique_ptr<ExpertKernels>> ExpertKernels::create(CudaStream& stream,
                                                             const CudaExpertShape& shape) {
  if (shape.dim % 32 != 0 || shape.inter % 32 != 0) {
    return Status(Code::kLoad, "experts of " + std::to_string(shape.dim) + " x " +
                                   std::to_string(shape.inter) +
                                   ": on a GPU both must be multiples of 32");
  }
  std::unique_ptr<ExpertKernels> kernels(new ExpertKernels(stream, shape));
  ROTA_ASSIGN_OR_RETURN(kernels->memory_,
                        stream.allocate(scratch_bytes(shape), "the experts' scratch"));
  divide(shape, {static_cast<uint8_t*>(kernels->memory_)}, kernels->scratch_);
  stream.use();
  for (size_t i = 0; i < kSizes.size(); ++i) {
    const Size& size = kSizes[i];
    kernels->resident_[i] = std::min(blocks_at_once(stream, size.gate_up, size.shared_bytes),
                                     blocks_at_once(stream, size.down, size.shared_bytes));
  }
  ROTA_RETURN_IF_ERROR(stream.status());
  return Result<std::unique_ptr<ExpertKernels>>(std::move(kernels));
}

ExpertKernels::~ExpertKernels() { stream_.release(memory_); }

// One kernel computes both.
bool ExpertKernels::gate_and_up_laid_out(const CudaExpertJob& expert) const {
  return is_laid_out(expert.gate, shape_.inter, shape_.dim) &&
         is_laid_out(expert.up, shape_.inter, shape_.dim);
}

template <typename Order>
void ExpertKernels::reorder(uint8_t* blob, const CudaExpertJob& expert, const Order& order) {
  stream_.use();
  const auto reorder_one = [&](Format format, uint64_t offset, int out, int in) {
    stream_.note(order({format, blob + offset, out, in}), "an expert's order");
  };
  if (gate_and_up_laid_out(expert)) {
    reorder_one(expert.gate, 0, shape_.inter, shape_.dim);
    reorder_one(expert.up, expert.up_offset, shape_.inter, shape_.dim);
  }
  reorder_one(expert.down, expert.down_offset, shape_.dim, shape_.inter);
}

void ExpertKernels::lay_out(cudaStream_t on, uint8_t* blob, const CudaExpertJob& expert) {
  reorder(blob, expert, [on](const BlobMatrix& m) { return rota::lay_out(on, m); });
}

void ExpertKernels::take_out(cudaStream_t on, uint8_t* blob, const CudaExpertJob& expert) {
  reorder(blob, expert, [on](const BlobMatrix& m) { return rota::take_out(on, m); });
}

void ExpertKernels::begin(const float* x, int rows) {
  ROTA_CHECK(rows <= shape_.max_rows, "rows", rows);
  x_ = x;
  rows_ = rows;
  has_words_ = has_digits_ = false;
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
        if (gate_and_up_laid_out(job) == plain_gate) continue;
        if (is_laid_out(job.down, shape_.dim, shape_.inter) == plain_down) continue;
        for (size_t begin = 0; begin < job.pairs.size(); begin += kJobPairs) {
          const int n = static_cast<int>(std::min<size_t>(kJobPairs, job.pairs.size() - begin));
          if (call.count == kCallJobs || pairs + n > kCallPairs) flush();
          call.jobs[call.count++] = {job.blob,
                                     matrix(job.gate, 0, shape_.inter, shape_.dim),
                                     matrix(job.up, job.up_offset, shape_.inter, shape_.dim),
                                     matrix(job.down, job.down_offset, shape_.dim, shape_.inter),
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

// x as the integers that these formats read, unless the call has them already.
void ExpertKernels::prepare_x(bool words, bool digits) {
  words = words && !has_words_, digits = digits && !has_digits_;
  if (!words && !digits) return;
  has_words_ |= words, has_digits_ |= digits;
  launch_after(stream_, integer_grid(shape_.dim, rows_), 32 * kIntegerWarps, 0, integers_kernel,
               "rows into integers", x_, shape_.dim, orders(scratch_.x, words, digits));
}

void ExpertKernels::launch(const ExpertCall& call, int pairs, int most, bool plain_gate,
                           bool plain_down) {
  const auto reads = [&call](auto matrices, bool digits) {
    return std::any_of(call.jobs, call.jobs + call.count, [&](const ExpertCallJob& job) {
      for (const ExpertCallMatrix* m : matrices(job)) {
        if ((static_cast<Format>(m->format) == Format::kPTQ1_0) == digits) return true;
      }
      return false;
    });
  };
  const GateUpArgs in = {shape_.dim,   shape_.inter, shape_.top_k,
                         shape_.limit, scratch_.x,   scratch_.hidden};
  const DownArgs out = {shape_.dim, shape_.inter, scratch_.hidden_integers, scratch_.partial};
  const auto count = static_cast<unsigned>(call.count);
  size_t at = 0;
  while (kSizes[at].pairs < most) ++at;
  const Size& size = kSizes[at];
  const auto blocks = [&](int tiles) {
    return dim3(
        static_cast<unsigned>(std::min(call.count * tiles, resident_[at] * stream_.processors())));
  };
  if (plain_gate) {
    const dim3 grid(static_cast<unsigned>(shape_.inter / kWarps), count);
    launch_after(stream_, grid, kThreads, 0, plain_gate_up_kernel, "plain gate and up", call, in,
                 x_);
  } else {
    const auto both = [](const ExpertCallJob& job) { return std::array{&job.gate, &job.up}; };
    prepare_x(reads(both, false), reads(both, true));
    launch_after(stream_, blocks(shape_.inter / 16), kThreads, size.shared_bytes, size.gate_up,
                 "gate and up", call, in);
  }
  if (plain_down) {
    if (shape_.act_quant) {
      launch_after(stream_, dim3(static_cast<unsigned>(pairs)), 256, 0, round_hidden_kernel,
                   "rounding hidden rows", call, scratch_.hidden, shape_.inter);
    }
    const dim3 grid(static_cast<unsigned>(shape_.dim / kWarps), count);
    launch_after(stream_, grid, kThreads, 0, plain_down_kernel, "plain down", call, out,
                 static_cast<const float*>(scratch_.hidden));
    return;
  }
  const auto down = [](const ExpertCallJob& job) { return std::array{&job.down}; };
  launch_after(stream_, integer_grid(shape_.inter, pairs), 32 * kIntegerWarps, 0,
               shape_.act_quant ? hidden_integers_kernel<true> : hidden_integers_kernel<false>,
               "hidden rows into integers", call, static_cast<const float*>(scratch_.hidden),
               shape_.inter,
               orders(scratch_.hidden_integers, reads(down, false), reads(down, true)));
  launch_after(stream_, blocks(shape_.dim / 32), kThreads, size.shared_bytes, size.down, "down",
               call, out);
}

void ExpertKernels::finish(int rows, float* y, const PairsElsewhere& elsewhere) {
  const dim3 grid(static_cast<unsigned>((shape_.dim + 127) / 128), static_cast<unsigned>(rows));
  launch_after(stream_, grid, 128, 0, sum_kernel, "summing experts",
               static_cast<const float*>(scratch_.partial), elsewhere, shape_.dim, shape_.top_k, y);
}

}  // namespace rota
