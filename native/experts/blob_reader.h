// Reads expert blobs from the file tier in parallel threads. Owns the threads and the order of
// reads; knows no placement and no counter.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/status.h"
#include "experts/blob.h"

namespace rota {

class BlobReader {
 public:
  // What is needed now is read before what is only guessed; within a kind, first come first served.
  enum class Priority : uint8_t { kDemand, kPrefetch };

  // max_open: tickets that may be open at once. Throws std::system_error when the system refuses a
  // thread, with none left running.
  BlobReader(const BlobSource& source, int threads, int max_open);
  ~BlobReader();
  // Waits until every thread has what it reads with; nothing is allocated from then on. Else the
  // first refusal, and this reader is of no use.
  Status prepared();
  BlobReader(const BlobReader&) = delete;
  BlobReader& operator=(const BlobReader&) = delete;

  // Starts to read the whole blob into dst; the ticket must be closed by wait(). A large blob is
  // cut into pieces that several threads read at once.
  int submit(int layer, int expert, uint8_t* dst, Priority priority);
  bool done(int ticket);
  void promote(int ticket);  // from kPrefetch to kDemand
  Status wait(int ticket);

 private:
  struct Ticket {
    bool open = false;
    int layer = 0, expert = 0;
    uint8_t* dst = nullptr;
    uint64_t bytes = 0, next = 0;  // [next, bytes) is not yet claimed by a thread
    int reading = 0;               // pieces in flight
    Priority priority = Priority::kDemand;
    uint64_t sequence = 0;
    Status status;
    bool finished() const { return next >= bytes && reading == 0; }
  };
  void end();
  void work(int index);
  Ticket* next_claim();  // under mutex_

  const BlobSource& source_;
  std::mutex mutex_;
  std::condition_variable wanted_, finished_;
  int ready_ = 0;   // threads that have what they need, or were refused it
  Status refusal_;  // of the first of these
  std::vector<Ticket> tickets_;
  uint64_t sequence_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace rota
