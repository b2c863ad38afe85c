// Parallel reads of expert blobs, demand before prefetch.
#include "experts/blob_reader.h"

#include <pthread.h>

#include <algorithm>
#include <system_error>

#include "base/check.h"

namespace rota {
namespace {

// Large enough that a drive reaches its bandwidth, small enough that one blob of ten MB keeps
// several threads busy.
constexpr uint64_t kPiece = uint64_t{1} << 20;

}  // namespace

BlobReader::BlobReader(const BlobSource& source, int threads, int max_open)
    : source_(source), tickets_(static_cast<size_t>(max_open)) {
  for (int i = 0; i < threads; ++i) {
    try {
      threads_.emplace_back([this, i] { work(i); });
    } catch (const std::system_error& error) {
      end();
      throw std::system_error(error.code(), "cannot start file reader " + std::to_string(i + 1) +
                                                " of " + std::to_string(threads));
    }
  }
}

BlobReader::~BlobReader() { end(); }

void BlobReader::end() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wanted_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

Status BlobReader::prepared() {
  std::unique_lock lock(mutex_);
  finished_.wait(lock, [this] { return ready_ == static_cast<int>(threads_.size()); });
  return refusal_;
}

int BlobReader::submit(int layer, int expert, uint8_t* dst, Priority priority) {
  const std::lock_guard lock(mutex_);
  const auto free =
      std::find_if(tickets_.begin(), tickets_.end(), [](const Ticket& t) { return !t.open; });
  ROTA_CHECK(free != tickets_.end(), "open tickets", tickets_.size());
  Ticket& ticket = *free;
  ticket.open = true;
  ticket.layer = layer;
  ticket.expert = expert;
  ticket.dst = dst;
  ticket.bytes = source_.layout(layer, expert).bytes;
  ticket.next = 0;
  ticket.reading = 0;
  ticket.priority = priority;
  ticket.sequence = sequence_++;
  ticket.status = Status();
  if (ticket.bytes > kPiece) {
    wanted_.notify_all();
  } else {
    wanted_.notify_one();
  }
  return static_cast<int>(free - tickets_.begin());
}

bool BlobReader::done(int ticket) {
  const std::lock_guard lock(mutex_);
  return tickets_[static_cast<size_t>(ticket)].finished();
}

void BlobReader::promote(int ticket) {
  const std::lock_guard lock(mutex_);
  tickets_[static_cast<size_t>(ticket)].priority = Priority::kDemand;
}

Status BlobReader::wait(int ticket) {
  std::unique_lock lock(mutex_);
  Ticket& t = tickets_[static_cast<size_t>(ticket)];
  ROTA_CHECK(t.open, "ticket", ticket);
  finished_.wait(lock, [&t] { return t.finished(); });
  t.open = false;
  return t.status;
}

BlobReader::Ticket* BlobReader::next_claim() {
  Ticket* best = nullptr;
  for (Ticket& t : tickets_) {
    if (!t.open || t.next >= t.bytes) continue;
    if (best == nullptr || t.priority < best->priority ||
        (t.priority == best->priority && t.sequence < best->sequence)) {
      best = &t;
    }
  }
  return best;
}

void BlobReader::work(int index) {
  pthread_setname_np(pthread_self(), ("rota-read-" + std::to_string(index + 1)).c_str());
  const Status prepared = source_.prepare_thread();
  std::unique_lock lock(mutex_);
  ++ready_;
  if (refusal_.ok()) refusal_ = prepared.with_context("file reader " + std::to_string(index + 1));
  finished_.notify_all();
  while (true) {
    Ticket* ticket = nullptr;
    wanted_.wait(lock, [&] { return stopping_ || (ticket = next_claim()) != nullptr; });
    if (stopping_) return;
    const uint64_t offset = ticket->next;
    const uint64_t bytes = std::min(kPiece, ticket->bytes - offset);
    ticket->next = offset + bytes;
    ++ticket->reading;
    lock.unlock();
    const Status status =
        source_.read(ticket->layer, ticket->expert, offset, bytes, ticket->dst + offset);
    lock.lock();
    --ticket->reading;
    if (!status.ok()) {
      ticket->status = status;
      ticket->next = ticket->bytes;
    }
    if (ticket->finished()) finished_.notify_all();
  }
}

}  // namespace rota
