// A list of launches as one CUDA graph, which the host starts at the price of a launch or two.
#pragma once

#include <memory>

#include "device/cuda/launch_list.cuh"

namespace rota {

class LaunchGraph {
 public:
  static cudaError_t make(const LaunchList& list, std::unique_ptr<LaunchGraph>& made);
  ~LaunchGraph();
  LaunchGraph(const LaunchGraph&) = delete;
  LaunchGraph& operator=(const LaunchGraph&) = delete;

  // Whether the list has this graph's kernels, and most of the launches as they were last.
  bool is_near(const LaunchList& list) const;
  // Of a list of this graph's kernels: what changed is changed first.
  cudaError_t launch(const LaunchList& list, cudaStream_t stream);

 private:
  LaunchGraph() = default;
  cudaError_t build();

  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t runnable_ = nullptr;
  std::vector<cudaGraphNode_t> nodes_;
  LaunchList last_;
};

}  // namespace rota
