// Cheap looks at each file, and the fingerprint where they do not suffice.
#include "engines/strata/weight_watch.h"

namespace rota {

Status WeightWatch::check() {
  for (size_t file = 0; file < states_.size(); ++file) {
    const std::string& path = source_.files()[file];
    bool touched = false;
    ROTA_RETURN_IF_ERROR(check_unchanged(path, states_[file], &touched));
    if (!touched) continue;
    // A new link, owner or mode; or new contents under an old time.
    if (source_.fingerprint() != fingerprint_ ||
        source_.draft_fingerprint() != draft_fingerprint_) {
      return Status(Code::kIo, path +
                                   ": changed since it was opened: it was written to, and its time "
                                   "was put back; restart the engine");
    }
    const auto now = FileIdentity::of(path);
    if (now.ok()) states_[file].changed_ns = now.value().changed_ns;
  }
  return Status();
}

}  // namespace rota
