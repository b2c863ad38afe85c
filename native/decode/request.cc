// Sums of passes.
#include "decode/request.h"

namespace rota {

void PassTotals::add(const PassRecord& pass) {
  passes += 1;
  rows += pass.rows;
  head_rows += pass.head_rows;
  offered += pass.offered;
  accepted += pass.accepted;
  experts += pass.experts;
  dense_bytes += pass.dense_bytes;
  engram_rows += pass.engram_rows;
  engram_bytes += pass.engram_bytes;
}

void PassTotals::add(const PassTotals& other) {
  passes += other.passes;
  rows += other.rows;
  head_rows += other.head_rows;
  offered += other.offered;
  accepted += other.accepted;
  experts += other.experts;
  dense_bytes += other.dense_bytes;
  engram_rows += other.engram_rows;
  engram_bytes += other.engram_bytes;
}

const char* finish_name(Finish finish) {
  switch (finish) {
    case Finish::kLength:
      return "length";
    case Finish::kStop:
      return "stop";
    case Finish::kCancelled:
      return "cancelled";
  }
  return "?";
}

}  // namespace rota
