// Whether the model's files are still what was loaded. Owns the fingerprints of the load and the
// state of each file; reads no weights but the sampled pages.
#pragma once

#include <string>
#include <vector>

#include "base/file_identity.h"
#include "base/status.h"
#include "model/weight_source.h"

namespace rota {

class WeightWatch {
 public:
  // The source must outlive it.
  explicit WeightWatch(const WeightSource& source)
      : source_(source),
        states_(source.identities()),
        fingerprint_(source.fingerprint()),
        draft_fingerprint_(source.draft_fingerprint()) {}

  const std::string& fingerprint() const { return fingerprint_; }
  const std::string& draft_fingerprint() const { return draft_fingerprint_; }  // empty: no sidecar

  // Asked before a request, so that none is answered from other weights, and after it, because
  // bytes that were read meanwhile are believed only then. kIo naming the file that was cut,
  // written to, replaced or removed.
  Status check();

 private:
  const WeightSource& source_;
  std::vector<FileIdentity> states_;  // of source_.files()
  std::string fingerprint_, draft_fingerprint_;
};

}  // namespace rota
