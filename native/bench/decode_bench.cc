// The model, the engine, and the windows.
#include "bench/decode_bench.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/clock.h"
#include "base/rng.h"
#include "engines/memory_guard.h"
#include "model/synthetic_model.h"

namespace rota {
namespace {

constexpr uint64_t kSeed = 1;
constexpr int kPromptTokens = 4;

double per_second(int64_t count, int64_t ns) {
  return static_cast<double>(count) * 1e9 / static_cast<double>(std::max<int64_t>(1, ns));
}

Status check_disk(const std::string& folder, uint64_t needed) {
  struct statvfs disk = {};
  if (statvfs(folder.c_str(), &disk) != 0) return Status();  // creating the file will say why
  const uint64_t free_bytes = uint64_t{disk.f_bavail} * disk.f_frsize;
  if (free_bytes >= needed) return Status();
  return Status(Code::kIo, folder + ": the model needs " + std::to_string(needed) +
                               " bytes, the disk has " + std::to_string(free_bytes) +
                               " free; name another folder with --dir");
}

// The fastest of several by the median; its index goes to `best`.
Spread best_of(const std::vector<std::vector<double>>& rates, size_t* best) {
  Spread fastest;
  for (size_t i = 0; i < rates.size(); ++i) {
    const Spread spread = spread_of(rates[i]);
    if (spread.median <= fastest.median) continue;
    fastest = spread;
    *best = i;
  }
  return fastest;
}

}  // namespace

DecodeBench::~DecodeBench() {
  if (engine_) engine_->release_caller();
  if (!ledger_path_.empty()) unlink(ledger_path_.c_str());
}

std::string DecodeBench::model_path() const {
  return options_.folder + "/bench-" + options_.config + "-" + format_info(options_.format).name +
         ".gguf";
}

// Written aside: a file of that name is a whole one.
Status DecodeBench::make_model(const Progress& progress) const {
  namespace fs = std::filesystem;
  const std::string path = model_path();
  std::error_code error;
  if (fs::exists(path, error)) return Status();
  fs::create_directories(options_.folder, error);
  SyntheticOptions synthetic;
  synthetic.config = options_.config;
  synthetic.seed = kSeed;
  synthetic.expert_format = options_.format;
  synthetic.before_write = [this](uint64_t bytes) { return check_disk(options_.folder, bytes); };
  synthetic.progress = [&progress](uint64_t done, uint64_t total) {
    progress(static_cast<int>(1000 * done / std::max<uint64_t>(1, total)), 1000,
             "writing the model");
  };
  const std::string aside = options_.folder + "/making-" + std::to_string(getpid()) + ".gguf";
  const auto written = write_synthetic_model(synthetic, aside);
  if (written.ok()) {
    // The sidecar is not used: the engine decodes one row a pass.
    fs::remove(written.value().sidecar, error);
    fs::rename(aside, path, error);
    if (!error) return Status();
  }
  fs::remove(aside, error);
  if (!written.ok()) return written.status();
  return Status(Code::kIo, path + ": cannot be named so: " + error.message());
}

// The pool first: the engine puts this thread on a core of its own, and threads started after that
// would be there too.
Status DecodeBench::load() {
  PoolBenchOptions pool;
  pool.bytes = options_.pool_bytes;
  pool.huge_pages = options_.machine.huge_pages;
  pool.formats = {options_.format};
  pool.rows = {1};
  pool.threads = options_.machine.threads;
  pool.window_ms = options_.window_ms;
  pool.shape = options_.shape;
  ROTA_RETURN_IF_ERROR(check_memory(
      {{"experts of the pool alone", "--gib", PoolBench::memory_bytes(pool)}}, memory_available()));
  ROTA_ASSIGN_OR_RETURN(pool_, PoolBench::create(pool));
  ROTA_RETURN_IF_ERROR(pool_->prepare(options_.format));

  StrataOptions engine;
  engine.model = model_path();
  engine.machine = options_.machine;
  engine.slots = SizeValue();
  engine.arena = SizeValue::share_of_all(1);
  engine.lru_window = 0;
  engine.depth = 0;
  engine.ctx = 256;
  ROTA_ASSIGN_OR_RETURN(engine_,
                        StrataEngine::load(engine, [](uint64_t, uint64_t) { return true; }));
  ledger_path_ = options_.folder + "/ledger-" + std::to_string(getpid()) + ".jsonl";
  ROTA_ASSIGN_OR_RETURN(ledger_, Ledger::open(ledger_path_));
  return Status();
}

Result<std::unique_ptr<DecodeBench>> DecodeBench::create(const DecodeBenchOptions& options,
                                                         const Progress& progress) {
  std::unique_ptr<DecodeBench> bench(new DecodeBench(options));
  ROTA_RETURN_IF_ERROR(bench->make_model(progress));
  progress(0, 1, "loading the model");
  ROTA_RETURN_IF_ERROR(bench->load());
  return bench;
}

Result<DecodeBench::Window> DecodeBench::decode_window(int prompt, bool with_ledger) {
  GenerateRequest request;
  request.ignore_eos = true;
  request.max_new = options_.tokens + 1;  // the first is the prompt's
  for (int i = 0; i < kPromptTokens; ++i) {
    const uint64_t bits = splitmix64(static_cast<uint64_t>(prompt * kPromptTokens + i));
    request.prompt.push_back(
        static_cast<int>(bits % static_cast<uint64_t>(engine_->weights().config().vocab)));
  }
  engine_->decoder().write_ledger(with_ledger ? ledger_.get() : nullptr);
  const std::atomic<bool> never{false};
  const int64_t begin = now_ns();
  ROTA_ASSIGN_OR_RETURN(const GenerateResult result,
                        engine_->decoder().generate(request, begin, never, nullptr));
  const ExpertTally& experts = result.decode.experts;
  Window window;
  window.seconds = static_cast<double>(now_ns() - begin) * 1e-9;
  window.bytes_per_s = per_second(experts.pool_bytes, experts.pool_ns);
  window.tokens_per_s = per_second(options_.tokens, result.predicted_ns);
  window.pool_share = static_cast<double>(experts.pool_ns) /
                      static_cast<double>(std::max<int64_t>(1, result.predicted_ns));
  return window;
}

Result<DecodeLine> DecodeBench::run(const Progress& progress) {
  std::vector<double> decode, tokens, share, ledger;
  std::vector<std::vector<double>> pool(pool_->teams()), ceiling(pool_->teams());
  ROTA_ASSIGN_OR_RETURN(Window warm, decode_window(0, true));
  (void)warm;
  for (int round = 0; round < options_.rounds; ++round) {
    progress(round, options_.rounds, "decode and pool in turn");
    for (size_t t = 0; t < pool_->teams(); ++t) {
      ceiling[t].push_back(pool_->ceiling_window(t));
      pool[t].push_back(pool_->pool_window(t, 1));
    }
    // The same prompt both times, so the same experts; which comes first takes turns.
    const bool ledger_first = round % 2 == 1;
    ROTA_ASSIGN_OR_RETURN(const Window first, decode_window(round + 1, ledger_first));
    ROTA_ASSIGN_OR_RETURN(const Window second, decode_window(round + 1, !ledger_first));
    for (const Window& window : {first, second}) {
      decode.push_back(window.bytes_per_s);
      tokens.push_back(window.tokens_per_s);
      share.push_back(window.pool_share);
    }
    const Window& with = ledger_first ? first : second;
    const Window& without = ledger_first ? second : first;
    ledger.push_back(with.seconds / without.seconds - 1);
  }
  DecodeLine line;
  line.format = options_.format;
  line.threads = engine_->threads();
  line.model_bytes = engine_->blobs().total_bytes();
  line.decode = spread_of(decode);
  size_t best = 0;
  line.pool = best_of(pool, &best);
  line.pool_threads = pool_->threads_of(best);
  line.ceiling = best_of(ceiling, &best);
  line.ceiling_threads = pool_->threads_of(best);
  line.tokens_per_s = spread_of(tokens);
  line.pool_share = spread_of(share);
  line.ledger = median_interval(ledger);
  return line;
}

}  // namespace rota
