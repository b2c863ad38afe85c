// Finding, checking and mapping of parts.
#include "formats/file_view.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <utility>

#include "base/check.h"

namespace rota {
namespace {

constexpr std::string_view kMark = ".part-";
constexpr size_t kMostDigits = 6;

bool exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

bool is_number(std::string_view text) {
  return text.size() >= 2 && text.size() <= kMostDigits &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::string part_path(const std::string& path, size_t number, size_t digits) {
  char suffix[32];
  std::snprintf(suffix, sizeof(suffix), ".part-%0*zu", static_cast<int>(digits), number);
  return path + suffix;
}

// Parts of `path` beside it, by number. Their names have one number of digits, or one is found
// twice.
Result<std::map<size_t, std::string>> list_parts(const std::string& path) {
  const std::filesystem::path whole(path);
  const std::string prefix = whole.filename().string() + std::string(kMark);
  const std::filesystem::path folder = whole.has_parent_path() ? whole.parent_path() : ".";
  std::map<size_t, std::string> parts;
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!name.starts_with(prefix) || !is_number(name.substr(prefix.size()))) continue;
    const size_t number = std::stoul(name.substr(prefix.size()));
    const std::string found = path + std::string(kMark) + name.substr(prefix.size());
    if (!parts.emplace(number, found).second) {
      return Status(Code::kLoad, found + ": part " + std::to_string(number) + " is also " +
                                     parts[number] + "; one of them must go");
    }
  }
  return parts;
}

// Parts 0 to the highest, none missing.
Result<std::vector<std::string>> find_parts(const std::string& path) {
  using Parts = std::map<size_t, std::string>;
  ROTA_ASSIGN_OR_RETURN(const Parts parts, list_parts(path));
  std::vector<std::string> paths;
  for (const auto& [number, name] : parts) {
    if (number != paths.size()) {
      const size_t digits = name.size() - path.size() - kMark.size();
      return Status(Code::kLoad, part_path(path, paths.size(), digits) +
                                     ": this part is missing, " + name + " is there");
    }
    paths.push_back(name);
  }
  return paths;
}

}  // namespace

std::string without_part_suffix(const std::string& path) {
  const size_t mark = path.rfind(kMark);
  if (mark == std::string::npos || !is_number(std::string_view(path).substr(mark + kMark.size()))) {
    return path;
  }
  return path.substr(0, mark);
}

bool file_or_parts_exist(const std::string& path) {
  if (exists(path)) return true;
  const auto parts = list_parts(path);
  return !parts.ok() || !parts.value().empty();
}

Result<FileView> FileView::open(const std::string& path) {
  const std::string whole = without_part_suffix(path);
  std::vector<std::string> paths;
  if (whole != path || !exists(path)) {
    ROTA_ASSIGN_OR_RETURN(paths, find_parts(whole));
  }
  if (paths.empty()) paths.push_back(path);
  std::vector<MmapFile> parts;
  for (const std::string& name : paths) {
    ROTA_ASSIGN_OR_RETURN(MmapFile part, MmapFile::open(name));
    parts.push_back(std::move(part));
  }
  return of(whole, std::move(parts));
}

Result<FileView> FileView::of(std::string path, std::vector<MmapFile> parts) {
  ROTA_CHECK(!parts.empty(), path);
  FileView view;
  view.path_ = std::move(path);
  view.parts_ = std::move(parts);
  for (const MmapFile& part : view.parts_) {
    view.part_bytes_ = std::max(view.part_bytes_, part.size());
    view.size_ += part.size();
  }
  for (size_t i = 0; i + 1 < view.parts_.size(); ++i) {
    const MmapFile& part = view.parts_[i];
    if (part.size() == view.part_bytes_) continue;
    return Status(Code::kLoad, part.path() + ": has " + std::to_string(part.size()) +
                                   " bytes, other parts " + std::to_string(view.part_bytes_) +
                                   "; all but the last must be equally long (is it truncated?)");
  }
  return view;
}

FileView::Place FileView::place(uint64_t offset) const {
  ROTA_CHECK(offset < size_, path_, offset, size_);
  return {static_cast<size_t>(offset / part_bytes_), offset % part_bytes_};
}

uint64_t FileView::run(uint64_t offset, uint64_t bytes) const {
  const Place where = place(offset);
  return std::min(bytes, parts_[where.part].size() - where.offset);
}

const uint8_t* FileView::within(uint64_t offset, uint64_t bytes) const {
  ROTA_CHECK(offset <= size_ && bytes <= size_ - offset, path_, offset, bytes);
  if (parts_.size() == 1) return parts_.front().data() + offset;
  if (bytes == 0) return parts_.front().data();
  const Place where = place(offset);
  return run(offset, bytes) == bytes ? parts_[where.part].data() + where.offset : nullptr;
}

const uint8_t* FileView::at(uint64_t offset, uint64_t bytes) {
  if (const uint8_t* mapped = within(offset, bytes)) return mapped;
  std::vector<uint8_t>& copy = copies_.emplace_back(bytes);
  read(offset, bytes, copy.data());
  return copy.data();
}

void FileView::read(uint64_t offset, uint64_t bytes, void* out) const {
  ROTA_CHECK(offset <= size_ && bytes <= size_ - offset, path_, offset, bytes);
  auto* to = static_cast<uint8_t*>(out);
  while (bytes > 0) {
    const Place where = place(offset);
    const uint64_t take = run(offset, bytes);
    std::memcpy(to, parts_[where.part].data() + where.offset, take);
    to += take;
    offset += take;
    bytes -= take;
  }
}

}  // namespace rota
