// Finding the graph of a list.
#include "device/cuda/launch_queue.cuh"

namespace rota {
namespace {

// Starting a graph costs the host about as much as starting two kernels.
constexpr size_t kFewestOfAGraph = 4;
// 40 layers, passes of 1 to 6 rows, a layer that ends a group of tokens or does not.
constexpr size_t kMostGraphs = 1024;

}  // namespace

cudaError_t LaunchQueue::begin_pass(int rows) {
  const cudaError_t error = flush();
  keeps_ = rows > 0;
  rows_ = rows;
  return error;
}

cudaError_t LaunchQueue::flush() {
  if (list_.size() == 0) return cudaSuccess;
  const cudaError_t error = list_.size() < kFewestOfAGraph ? list_.launch_each(stream_) : replay();
  list_.clear();
  return error;
}

cudaError_t LaunchQueue::flush_once() {
  const cudaError_t error = list_.launch_each(stream_);
  list_.clear();
  return error;
}

uint64_t LaunchQueue::key() const {
  uint64_t hash = static_cast<uint64_t>(rows_);
  for (size_t i = 0; i < list_.size(); ++i) {
    hash = (hash ^ reinterpret_cast<uintptr_t>(list_[i].kernel)) * 0x9E3779B97F4A7C15ull;
    hash ^= hash >> 29;
  }
  return hash;
}

// A pass goes through the layers in order: the graph behind the last one is tried first.
cudaError_t LaunchQueue::replay() {
  Kind& kind = kinds_[key()];
  for (size_t tried = 0; tried < kind.graphs.size(); ++tried) {
    const size_t at = (kind.next + tried) % kind.graphs.size();
    LaunchGraph& graph = *kind.graphs[at];
    if (!graph.is_near(list_)) continue;
    kind.next = (at + 1) % kind.graphs.size();
    return graph.launch(list_, stream_);
  }
  if (graphs_ == kMostGraphs) return list_.launch_each(stream_);
  std::unique_ptr<LaunchGraph> made;
  if (const cudaError_t error = LaunchGraph::make(list_, made); error != cudaSuccess) return error;
  ++graphs_;
  kind.graphs.push_back(std::move(made));
  return kind.graphs.back()->launch(list_, stream_);
}

}  // namespace rota
