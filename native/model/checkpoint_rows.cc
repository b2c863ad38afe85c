// Reading, putting together, and refusing what is no number.
#include "model/checkpoint_rows.h"

#include <cstring>
#include <vector>

#include "formats/numbers.h"

namespace rota {
namespace {

constexpr uint64_t kBlock = 32;
constexpr uint8_t kNanScale = 255;
constexpr uint8_t kNanCode = 0x7f;  // of E4M3, beside the sign

Status no_number(const Safetensors& file, const SafetensorsTensor& tensor, uint64_t row,
                 uint64_t column, const char* what) {
  return Status(Code::kLoad, file.path() + ": tensor " + tensor.name + ": row " +
                                 std::to_string(row) + ", column " + std::to_string(column) + ": " +
                                 what);
}

Status read_values(const CheckpointMatrix& m, uint64_t first, uint64_t count, uint64_t row_bytes,
                   void* out) {
  return m.values_in->file().read(m.values->offset + first * row_bytes, count * row_bytes, out);
}

Status read_f32(const CheckpointMatrix& m, uint64_t first, uint64_t count, uint8_t* out) {
  ROTA_RETURN_IF_ERROR(read_values(m, first, count, m.columns * sizeof(float), out));
  for (uint64_t i = 0; i < count * m.columns; ++i) {
    uint32_t bits = 0;
    std::memcpy(&bits, out + i * sizeof(bits), sizeof(bits));
    if ((bits & 0x7f800000u) != 0x7f800000u) continue;
    return no_number(*m.values_in, *m.values, first + i / m.columns, i % m.columns,
                     "is not finite");
  }
  return Status();
}

Status read_bf16(const CheckpointMatrix& m, uint64_t first, uint64_t count, uint8_t* out) {
  std::vector<uint16_t> values(count * m.columns);
  ROTA_RETURN_IF_ERROR(read_values(m, first, count, m.columns * sizeof(uint16_t), values.data()));
  for (uint64_t i = 0; i < values.size(); ++i) {
    if ((values[i] & 0x7f80u) != 0x7f80u) continue;
    return no_number(*m.values_in, *m.values, first + i / m.columns, i % m.columns,
                     "is not finite");
  }
  if (m.format == Format::kBF16) {
    std::memcpy(out, values.data(), values.size() * sizeof(uint16_t));
    return Status();
  }
  for (uint64_t i = 0; i < values.size(); ++i) {
    const float wide = bf16_to_float(values[i]);
    std::memcpy(out + i * sizeof(wide), &wide, sizeof(wide));
  }
  return Status();
}

// The scale bytes of rows [first, first + count): those of a tile are its 32 rows'.
struct Scales {
  std::vector<uint8_t> bytes;
  uint64_t first_row = 0, rows_each = 1, a_row = 0;

  Status read(const CheckpointMatrix& m, uint64_t first, uint64_t count) {
    rows_each = m.stored == Stored::kFp8Tiles ? kBlock : 1;
    a_row = m.columns / kBlock;
    first_row = first / rows_each;
    const uint64_t rows = (first + count - 1) / rows_each - first_row + 1;
    bytes.resize(rows * a_row);
    ROTA_RETURN_IF_ERROR(
        m.scales_in->file().read(m.scales->offset + first_row * a_row, bytes.size(), bytes.data()));
    for (uint64_t i = 0; i < bytes.size(); ++i) {
      if (bytes[i] != kNanScale) continue;
      return no_number(*m.scales_in, *m.scales, first_row + i / a_row, i % a_row,
                       "the scale is no number (255)");
    }
    return Status();
  }
  uint8_t at(uint64_t row, uint64_t block) const {
    return bytes[(row / rows_each - first_row) * a_row + block];
  }
};

Status read_fp8(const CheckpointMatrix& m, uint64_t first, uint64_t count, uint8_t* out) {
  Scales scales;
  ROTA_RETURN_IF_ERROR(scales.read(m, first, count));
  std::vector<uint8_t> codes(count * m.columns);
  ROTA_RETURN_IF_ERROR(read_values(m, first, count, m.columns, codes.data()));
  for (uint64_t i = 0; i < codes.size(); ++i) {
    if ((codes[i] & kNanCode) != kNanCode) continue;
    return no_number(*m.values_in, *m.values, first + i / m.columns, i % m.columns, "is no number");
  }
  const uint8_t* code = codes.data();
  for (uint64_t row = first; row < first + count; ++row) {
    for (uint64_t block = 0; block < m.columns / kBlock; ++block) {
      *out++ = scales.at(row, block);
      std::memcpy(out, code, kBlock);
      out += kBlock;
      code += kBlock;
    }
  }
  return Status();
}

Status read_fp4(const CheckpointMatrix& m, uint64_t first, uint64_t count, uint8_t* out) {
  constexpr uint64_t kBytes = kBlock / 2;
  Scales scales;
  ROTA_RETURN_IF_ERROR(scales.read(m, first, count));
  std::vector<uint8_t> codes(count * m.columns / 2);
  ROTA_RETURN_IF_ERROR(read_values(m, first, count, m.columns / 2, codes.data()));
  const uint8_t* code = codes.data();
  for (uint64_t row = first; row < first + count; ++row) {
    for (uint64_t block = 0; block < m.columns / kBlock; ++block) {
      *out++ = scales.at(row, block);
      checkpoint_internal::reorder_nibbles(code, out);
      out += kBytes;
      code += kBytes;
    }
  }
  return Status();
}

}  // namespace

void checkpoint_internal::reorder_nibbles(const uint8_t* in, uint8_t* out) {
  for (int i = 0; i < 8; ++i) {
    out[2 * i] = static_cast<uint8_t>((in[i] & 15) | ((in[i + 8] & 15) << 4));
    out[2 * i + 1] = static_cast<uint8_t>((in[i] >> 4) | (in[i + 8] & 0xf0));
  }
}

Status read_checkpoint_rows(const CheckpointMatrix& matrix, uint64_t first, uint64_t count,
                            uint8_t* out) {
  if (count == 0) return Status();
  switch (matrix.stored) {
    case Stored::kF32:
      return read_f32(matrix, first, count, out);
    case Stored::kBF16:
      return read_bf16(matrix, first, count, out);
    case Stored::kFp8Tiles:
    case Stored::kFp8Rows:
      return read_fp8(matrix, first, count, out);
    case Stored::kFp4:
      return read_fp4(matrix, first, count, out);
  }
  return Status();
}

}  // namespace rota
