// What a calibration has finished, on the disk: a killed one goes on from here and ends with the
// same bytes. Owns names, checksums and the atomic appearance of files; knows nothing of what they
// hold.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/status.h"

namespace rota {

class WorkFolder {
 public:
  // FOLDER, made where it is missing. `inputs` names everything that decides the result; a folder
  // of other inputs is kUsage, with what to do.
  static Result<WorkFolder> open(const std::string& folder, const std::string& inputs);

  // What put() left under a name, whole and unchanged; else nothing: it is to be made again.
  std::optional<std::string> get(const std::string& name) const;
  // Appears whole or not at all, and outlasts the power.
  Status put(const std::string& name, std::string_view bytes) const;

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  void remove(const std::string& name) const;
  // The folder with all that is in it.
  void clear() const;

 private:
  explicit WorkFolder(std::string folder) : folder_(std::move(folder)) {}
  std::string folder_;
};

}  // namespace rota
