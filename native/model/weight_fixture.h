// Synthetic models in a test's folder, opened or refused. For tests only.
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <utility>

#include "base/temp_dir.h"
#include "model/synthetic_model.h"
#include "model/weight_source.h"

namespace rota {

inline SyntheticOptions options_for(const std::string& config, bool blob_layout = true,
                                    int shards = 1) {
  SyntheticOptions options;
  options.config = config;
  options.family = blob_layout ? Family::kOurs : Family::kA;
  options.shards = shards;
  return options;
}

inline std::string write(const TempDir& dir, const SyntheticOptions& options,
                         const std::string& name = "m.gguf") {
  const auto files = write_synthetic_model(options, dir / name);
  REQUIRE_MESSAGE(files.ok(), files.status().message());
  return files.value().model.front();
}

inline std::unique_ptr<WeightSource> open(const std::string& path,
                                          const WeightSourceOptions& options = {}) {
  auto source = WeightSource::open(path, options);
  REQUIRE_MESSAGE(source.ok(), source.status().message());
  return std::move(source).value();
}

inline std::string failure(const std::string& path, const WeightSourceOptions& options = {}) {
  const auto source = WeightSource::open(path, options);
  if (source.ok()) return "opened";
  CHECK(source.status().code() == Code::kLoad);
  return source.status().message();
}

}  // namespace rota
