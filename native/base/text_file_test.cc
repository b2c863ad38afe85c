// A user's text: what is read whole, and what is refused by name.
#include "base/text_file.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "base/temp_dir.h"

namespace rota {

TEST_CASE("a text is read whole, an empty one too") {
  const TempDir folder;
  const std::string bytes("one\ntwo\0three", 13);
  std::ofstream(folder / "text", std::ios::binary) << bytes;
  std::ofstream(folder / "empty");
  CHECK(read_text_file(folder / "text").value() == bytes);
  CHECK(read_text_file(folder / "empty").value().empty());
}

TEST_CASE(
    "what is no text is refused with its name: nothing, a folder, a device, a pipe, a giant") {
  const TempDir folder;
  const auto said = [](const std::string& path) {
    const auto text = read_text_file(path);
    CHECK(text.status().code() == Code::kUsage);
    return text.status().message();
  };
  CHECK(said("/nowhere/x") == "/nowhere/x: cannot open: No such file or directory");
  CHECK(said("/tmp") == "/tmp: is a folder; name a file");
  CHECK(said("/dev/zero") == "/dev/zero: is no regular file");
  CHECK(said("/dev/null") == "/dev/null: is no regular file");
  const std::string pipe = folder / "pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(said(pipe) == pipe + ": is no regular file");
  const std::string giant = folder / "giant";
  std::ofstream{giant};
  REQUIRE(truncate(giant.c_str(), (off_t{64} << 20) + 1) == 0);
  CHECK(said(giant) == giant + ": has more than the 64 MiB of a text");
}

TEST_CASE("a text is written whole over what was there, or the path and the reason are said") {
  const TempDir folder;
  const std::string path = folder / "text";
  const std::string bytes("one\ntwo\0three", 13);
  CHECK(write_text_file(path, "something longer than that").ok());
  CHECK(write_text_file(path, bytes).ok());
  CHECK(read_text_file(path).value() == bytes);
  const Status nowhere = write_text_file("/nowhere/x", bytes);
  CHECK(nowhere.code() == Code::kIo);
  CHECK(nowhere.message() == "/nowhere/x: cannot write: No such file or directory");
  CHECK(write_text_file("/dev/full", bytes).message() ==
        "/dev/full: cannot write: No space left on device");
}

}  // namespace rota
