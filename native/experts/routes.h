// What the router chose, row by row, in a file: written while serving, counted afterwards. Owns the
// file's format, its buffer and its failures; knows no tier.
//
// A file is a header and rows, all little-endian:
//   header  "ROTAROUT", then u32 version (1), layers, experts, top_k
//   row     u16 kind (0 prompt, 1 decode of one row, 2 verify), then u16 expert[layers][top_k] in
//           the router's order, best first
// A row is written when its pass has left the last layer, so a pass that failed leaves none.
#pragma once

#include <array>
#include <cstdint>
#include <istream>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "model/routed_experts.h"

namespace rota {

struct RouteShape {
  int layers = 0, experts = 0, top_k = 0;
  bool operator==(const RouteShape&) const = default;
};

enum class RowKind : uint16_t { kPrompt, kDecode, kVerify };
inline constexpr size_t kRowKinds = 3;

class RouteLog {
 public:
  // Replaces what the file held. `buffer` bytes of rows are held back at most, and one pass more.
  static Result<std::unique_ptr<RouteLog>> open(const std::string& path, const RouteShape& shape,
                                                size_t buffer = size_t{1} << 20);
  ~RouteLog();
  RouteLog(const RouteLog&) = delete;
  RouteLog& operator=(const RouteLog&) = delete;

  // The answer of one layer, ids[rows, top_k]; layer 0 begins a pass. kIo when the buffer was full
  // and the file takes no more: the rows it held are lost, later ones are tried again.
  Status add(PassKind kind, int layer, int rows, int top_k, const int* ids);
  Status flush();

  int64_t rows() const { return rows_; }  // written or in the buffer
  const std::string& path() const { return path_; }

 private:
  RouteLog(std::string path, int fd, const RouteShape& shape, size_t buffer);
  size_t row_words() const;

  std::string path_;
  int fd_;
  RouteShape shape_;
  size_t limit_;
  std::vector<uint16_t> pass_;  // [rows, row_words] of the pass in progress
  std::string buffer_;          // whole rows
  int64_t buffered_rows_ = 0, rows_ = 0;
  int64_t good_ = 0;  // bytes of the file that are whole
};

// How often each expert was chosen.
struct RouteCounts {
  RouteShape shape;
  std::vector<int64_t> uses;  // [layers * experts]
  std::array<int64_t, kRowKinds> rows{};
  uint64_t torn_bytes = 0;  // of last rows that are not whole: an engine was killed
};

// Adds one file's rows of `kinds`; rows of other kinds are counted in `rows` alone. kLoad when it
// is no routes file, kUsage when its shape is another than that of the files before it.
Status add_routes(std::istream& in, const std::string& file, const std::vector<RowKind>& kinds,
                  RouteCounts& counts);

// Rows of `kinds` of all files, one after the other. kUsage also when one cannot be opened.
Result<RouteCounts> count_routes(const std::vector<std::string>& files,
                                 const std::vector<RowKind>& kinds);

}  // namespace rota
