// Small units of this room: hashes, random bits, buffers, CPU features, status context.
#include <doctest/doctest.h>

#include <string>
#include <utility>

#include "base/aligned_buffer.h"
#include "base/clock.h"
#include "base/cpu_features.h"
#include "base/rng.h"
#include "base/sha256.h"
#include "base/status.h"
#include "base/utf8.h"

namespace rota {
namespace {

TEST_CASE("SHA-256 of the published vectors") {
  CHECK(sha256_hex("", 0) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256_hex("abc", 3) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  const std::string two_blocks = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
  CHECK(sha256_hex(two_blocks.data(), two_blocks.size()) ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  const std::string million(1000000, 'a');
  CHECK(sha256_hex(million.data(), million.size()) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("SHA-256 does not depend on how the message is cut") {
  std::string message;
  for (int i = 0; i < 300; ++i) message += static_cast<char>(i * 37);
  for (size_t length = 0; length <= message.size(); ++length) {
    const std::string whole = sha256_hex(message.data(), length);
    Sha256 hash;
    const size_t cut = length * 5 / 11;
    hash.update(message.data(), cut);
    hash.update(message.data() + cut, length - cut);
    CHECK(hex(hash.finish()) == whole);
    hash.update("abc");  // a finished object starts anew
    CHECK(hex(hash.finish()) == sha256_hex("abc", 3));
  }
}

TEST_CASE("FNV-1a and SplitMix64 published values") {
  CHECK(fnv1a64("") == 0xcbf29ce484222325u);
  CHECK(fnv1a64("a") == 0xaf63dc4c8601ec8cu);
  CHECK(fnv1a64("foobar") == 0x85944171f73967e8u);
  CHECK(splitmix64(0) == 0xe220a8397b1dcdafu);
  CHECK(splitmix64_mix(2 * kGoldenGamma) == 0x6e789e6aa1b965f4u);  // second output of seed 0
  CHECK(unit_double(~uint64_t{0}) < 1.0);
  CHECK(unit_double(0) == 0.0);
}

TEST_CASE("buffers are aligned, movable and honest about failure") {
  auto buffer = AlignedBuffer::allocate(1000, 4096, true);
  REQUIRE(buffer.ok());
  CHECK(reinterpret_cast<uintptr_t>(buffer->data()) % 4096 == 0);
  CHECK(buffer->size() == 1000);
  uint8_t* const memory = buffer->data();
  AlignedBuffer moved = std::move(buffer.value());
  CHECK(moved.data() == memory);
  AlignedBuffer target;
  target = std::move(moved);
  CHECK(target.data() == memory);
  CHECK(moved.data() == nullptr);
  const auto empty = AlignedBuffer::allocate(0);
  CHECK(empty.ok());
  const auto huge = AlignedBuffer::allocate(size_t{1} << 62);
  REQUIRE(!huge.ok());
  CHECK(huge.status().code() == Code::kOutOfMemory);
  CHECK(huge.status().message() == "cannot allocate 4611686018427387904 bytes");
}

TEST_CASE("ROTA_CPU hides what lies above it, and asks for nothing that the CPU lacks") {
  const CpuFeatures all{true, true}, half{true, false}, none;
  const auto name = [](const CpuFeatures& has, const char* asked) {
    const auto chosen = cpu_internal::choose(has, asked);
    return chosen.ok() ? std::string(chosen.value().name()) : chosen.status().message();
  };
  for (const CpuFeatures& has : {all, half, none}) {
    CHECK(name(has, nullptr) == has.name());
    CHECK(name(has, "auto") == has.name());
    CHECK(name(has, "portable") == "portable");
  }
  CHECK(name(all, "avx2") == "avx2");
  CHECK(name(all, "avx512") == "avx512");
  CHECK(name(half, "avx2") == "avx2");
  CHECK(name(half, "avx512") ==
        "ROTA_CPU=avx512: this CPU has no such instructions; the best it has is avx2");
  CHECK(name(none, "avx2") ==
        "ROTA_CPU=avx2: this CPU has no such instructions; the best it has is portable");
  CHECK(name(all, "sse") == "ROTA_CPU='sse': expected portable, avx2, avx512 or auto");
  CHECK(cpu_internal::choose(all, "sse").status().code() == Code::kUsage);
}

TEST_CASE("context is added in front and keeps the code") {
  const Status status = Status(Code::kIo, "short").with_context("a.gguf");
  CHECK(status.code() == Code::kIo);
  CHECK(status.message() == "a.gguf: short");
  CHECK(Status().with_context("x").ok());
}

TEST_CASE("every code point survives UTF-8, and nothing else is text") {
  int wrong = 0;
  for (uint32_t code = 0; code <= 0x10ffff; ++code) {
    const bool surrogate = code >= 0xd800 && code <= 0xdfff;
    const std::string text = encode_utf8(code);
    const auto [length, decoded] = decode_utf8(text);
    wrong += surrogate ? length != 0 : length != text.size() || decoded != code;
  }
  CHECK(wrong == 0);
  for (const char* bad : {"\x80", "\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xf4\x90\x80\x80",
                          "\xf5\x80\x80\x80", "\xe4\xb8", "a\xff"}) {
    CHECK(!is_utf8(bad));
  }
  CHECK(is_utf8("abc \xe4\xb8\xad"));
}

TEST_CASE("foreign text becomes one line") {
  CHECK(one_line("m.gguf: tensor a: \xe4\xb8\xad is missing") ==
        "m.gguf: tensor a: \xe4\xb8\xad is missing");
  CHECK(one_line("a\nb\r\x1b[31mc\x7f") == "a\\x0ab\\x0d\\x1b[31mc\\x7f");
  CHECK(one_line(std::string_view("a\0b", 3)) == "a\\x00b");
  CHECK(one_line("\xff\xe4\xb8|\xc2\x85") == "\\xff\\xe4\\xb8|\\xc2\\x85");
  for (int byte = 0; byte < 256; ++byte) {
    const std::string line = one_line(std::string("x") + static_cast<char>(byte));
    CHECK(is_utf8(line));
    CHECK(line.find_first_of("\n\r\x1b") == std::string::npos);
  }
}

TEST_CASE("the clock never goes back") {
  int64_t last = now_ns();
  for (int i = 0; i < 1000; ++i) {
    const int64_t now = now_ns();
    CHECK(now >= last);
    last = now;
  }
}

}  // namespace
}  // namespace rota
