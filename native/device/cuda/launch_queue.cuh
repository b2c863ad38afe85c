// What is asked of a GPU's stream by kernels alone. At once; or, in a pass, kept until something
// else is asked, and then replayed as the graph of the same place of an earlier pass. Owns those
// graphs and which of them a list of launches is.
#pragma once

#include <memory>
#include <unordered_map>

#include "device/cuda/launch_graph.cuh"

namespace rota {

class LaunchQueue {
 public:
  void open(cudaStream_t stream) { stream_ = stream; }

  template <typename... Params>
  void add(void (*kernel)(Params...), dim3 blocks, unsigned threads, size_t shared,
           const Params&... parameters) {
    list_.add(kernel, blocks, threads, shared, parameters...);
    if (!keeps_) {
      list_.launch(0, stream_);
      list_.clear();
    }
  }
  // Puts what was kept on the stream; the second, without a graph, what will not come again so.
  cudaError_t flush();
  cudaError_t flush_once();

  // Passes of as many rows come again and again: what follows is kept, and compared with passes of
  // as many. 0: launched at once, as at first.
  cudaError_t begin_pass(int rows);

  size_t graphs() const { return graphs_; }

 private:
  // Lists of the same kernels in passes of as many rows: the layers of a model, in their order.
  struct Kind {
    std::vector<std::unique_ptr<LaunchGraph>> graphs;
    size_t next = 0;
  };
  cudaError_t replay();
  uint64_t key() const;

  cudaStream_t stream_ = nullptr;
  bool keeps_ = false;
  int rows_ = 0;
  LaunchList list_;
  std::unordered_map<uint64_t, Kind> kinds_;
  size_t graphs_ = 0;
};

}  // namespace rota
