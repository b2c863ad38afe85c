// Flags of speculation, and the words that are no variables.
#include "engines/strata/drafting_flags.h"

#include <array>

#include "engines/strata/flag_setters.h"

namespace rota {

namespace {

using namespace setters;

// FILE:K; a file's name may have colons itself.
Setter keep(StrataOptions& o) {
  return [&o](const std::string& value) {
    const size_t colon = value.rfind(':');
    if (colon == std::string::npos || colon == 0) {
      return Status(Code::kUsage,
                    "\"" + value + "\" is not FILE:K: a counts file and how many experts to keep");
    }
    ROTA_ASSIGN_OR_RETURN(o.keep, parse_int(value.substr(colon + 1), 1, 1 << 20));
    o.keep_file = value.substr(0, colon);
    return Status();
  };
}

// Words that the family's recipes use for these knobs. Any shell may have them for something else,
// so they are named and not read.
struct BareName {
  const char *name, *variable, *flag;
};
constexpr std::array<BareName, 4> kBareNames = {{{"DEPTH", "STRATA_DSPARK_DEPTH", "--depth"},
                                                 {"CONF", "STRATA_DSPARK_CONF", "--conf"},
                                                 {"KEEP", "STRATA_DSPARK_KEEP", "--keep"},
                                                 {"STEP_MAX", "STRATA_STEP_MAX", "--step-max"}}};

}  // namespace

std::vector<std::string> bare_names_set(const Environment& environment) {
  std::vector<std::string> notes;
  for (const BareName& bare : kBareNames) {
    const char* value = environment(bare.name);
    if (value == nullptr || *value == '\0') continue;
    notes.push_back(std::string(bare.name) + " is set in the environment and not read: write " +
                    bare.variable + ", or give " + bare.flag);
  }
  return notes;
}

std::vector<Flag> drafting_flags(StrataOptions& o) {
  return {
      {"--draft", "PATH", "DSpark sidecar (default: MODEL's stem + .dspark.gguf, if it is there)",
       text(o.draft)},
      {"--depth",
       "N",
       "tokens drafted a pass; 0 = no speculation (default 5, 0 without a sidecar)",
       [&o](const std::string& t) {
         ROTA_ASSIGN_OR_RETURN(o.depth, parse_int(t, 0, 15));
         return Status();
       },
       {{"STRATA_DSPARK_DEPTH"}}},
      {"--conf",
       "F",
       "verify only drafts before the first whose estimated acceptance is below F "
       "(default 0.6)",
       number(o.confidence, 0, 1),
       {{"STRATA_DSPARK_CONF"}}},
      {"--keep",
       "FILE:K",
       "of a draft stage's experts only the K heaviest by a counts file (default: all)",
       keep(o),
       {{"STRATA_DSPARK_KEEP"}}},
      {"--dump-draft-counts", "FILE",
       "write how often each draft expert was chosen, after each request: lines \"stage expert "
       "count\"",
       text(o.dump_draft_counts)},
      {"--draft-oracle", "FILE", "for tests: drafts from a file, a line of token ids a request",
       text(o.draft_oracle)},
      {"--draft-corrupt", "K", "for tests: spoil every K-th draft of the oracle (default 0: none)",
       whole(o.draft_corrupt, 0, 1 << 20)},
      {"--assume-accept", "F",
       "LOSSY, for synthetic models alone: a draft stands with probability F, whatever the model "
       "says",
       store(o.assume_accept, [](const std::string& t) { return parse_number(t, 0, 1); })},
      {"--draft-accept", "F",
       "for tests: drafts from the target itself, read ahead outside all counters of passes, each "
       "accepted with probability F",
       store(o.draft_accept, [](const std::string& t) { return parse_number(t, 0, 1); })},
  };
}

}  // namespace rota
