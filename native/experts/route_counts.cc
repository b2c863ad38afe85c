// Routes out of files. The bytes are foreign: every number is checked before it is used.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "experts/routes.h"
#include "experts/routes_format.h"

namespace rota {
namespace {

constexpr int kMaxLayers = 256, kMaxExperts = 4096, kMaxTopK = 256;

uint32_t u32_at(const char* bytes) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) {
    value |= static_cast<uint32_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  return value;
}

uint16_t u16_at(const char* bytes) {
  return static_cast<uint16_t>(static_cast<unsigned char>(bytes[0]) |
                               static_cast<unsigned char>(bytes[1]) << 8);
}

std::string shown(const RouteShape& shape) {
  return std::to_string(shape.layers) + " layers of " + std::to_string(shape.experts) +
         " experts, top " + std::to_string(shape.top_k);
}

Result<RouteShape> read_header(std::istream& in, const std::string& file) {
  char header[kRoutesHeaderBytes];
  in.read(header, sizeof header);
  if (in.gcount() != sizeof header || std::string_view(header, 8) != kRoutesMagic) {
    return Status(Code::kLoad, file + ": no routes file of --dump-routes");
  }
  const uint32_t version = u32_at(header + 8);
  if (version != kRoutesVersion) {
    return Status(Code::kLoad, file + ": routes of version " + std::to_string(version) +
                                   "; this program reads version " +
                                   std::to_string(kRoutesVersion));
  }
  const auto number = [&header](size_t at) {
    return static_cast<int>(std::min<uint32_t>(u32_at(header + at), INT32_MAX));
  };
  const RouteShape shape{number(12), number(16), number(20)};
  const std::string problem = routes_shape_problem(shape);
  if (!problem.empty()) return Status(Code::kLoad, file + ": " + problem);
  return shape;
}

Status count_row(const char* row, const std::string& where, const std::vector<RowKind>& kinds,
                 RouteCounts& counts) {
  const uint16_t kind = u16_at(row);
  if (kind >= kRowKinds) {
    return Status(Code::kLoad, where + ": kind " + std::to_string(kind) + " is none");
  }
  ++counts.rows[kind];
  if (std::find(kinds.begin(), kinds.end(), static_cast<RowKind>(kind)) == kinds.end()) {
    return Status();
  }
  const char* at = row + 2;
  for (int layer = 0; layer < counts.shape.layers; ++layer) {
    for (int k = 0; k < counts.shape.top_k; ++k, at += 2) {
      const int expert = u16_at(at);
      if (expert >= counts.shape.experts) {
        return Status(Code::kLoad, where + ": expert " + std::to_string(expert) + " of " +
                                       std::to_string(counts.shape.experts));
      }
      ++counts.uses[static_cast<size_t>(layer * counts.shape.experts + expert)];
    }
  }
  return Status();
}

}  // namespace

Status add_routes(std::istream& in, const std::string& file, const std::vector<RowKind>& kinds,
                  RouteCounts& counts) {
  ROTA_ASSIGN_OR_RETURN(const RouteShape shape, read_header(in, file));
  if (counts.uses.empty()) {
    counts.shape = shape;
    counts.uses.assign(static_cast<size_t>(shape.layers) * static_cast<size_t>(shape.experts), 0);
  } else if (shape != counts.shape) {
    return Status(Code::kUsage, file + ": routes of " + shown(shape) + ", the files before it of " +
                                    shown(counts.shape));
  }
  std::vector<char> row(2 +
                        2 * static_cast<size_t>(shape.layers) * static_cast<size_t>(shape.top_k));
  for (int64_t number = 0; in.read(row.data(), static_cast<std::streamsize>(row.size()));
       ++number) {
    const std::string where = file + ": row " + std::to_string(number);
    ROTA_RETURN_IF_ERROR(count_row(row.data(), where, kinds, counts));
  }
  if (in.bad()) return Status(Code::kIo, file + ": cannot read: " + std::strerror(errno));
  counts.torn_bytes += static_cast<uint64_t>(in.gcount());
  return Status();
}

std::string routes_shape_problem(const RouteShape& shape) {
  const bool good = shape.layers >= 1 && shape.layers <= kMaxLayers && shape.experts >= 1 &&
                    shape.experts <= kMaxExperts && shape.top_k >= 1 && shape.top_k <= kMaxTopK &&
                    shape.top_k <= shape.experts;
  return good ? "" : "routes of " + shown(shape) + " are none that a routes file can hold";
}

Result<RouteCounts> count_routes(const std::vector<std::string>& files,
                                 const std::vector<RowKind>& kinds) {
  RouteCounts counts;
  for (const std::string& file : files) {
    std::ifstream in(file, std::ios::binary);
    if (!in) return Status(Code::kUsage, file + ": cannot open: " + std::strerror(errno));
    ROTA_RETURN_IF_ERROR(add_routes(in, file, kinds, counts));
  }
  return counts;
}

}  // namespace rota
