// Nodes in a row, each entered as early as its kernel allows.
#include "device/cuda/launch_graph.cuh"

namespace rota {
namespace {

cudaKernelNodeParams node_parameters(LaunchList& list, size_t i) {
  cudaKernelNodeParams node = {};
  node.func = const_cast<void*>(list[i].kernel);
  node.gridDim = list[i].blocks;
  node.blockDim = dim3(list[i].threads);
  node.sharedMemBytes = static_cast<unsigned>(list[i].shared);
  node.kernelParams = list.parameters(i);
  return node;
}

}  // namespace

cudaError_t LaunchGraph::make(const LaunchList& list, std::unique_ptr<LaunchGraph>& made) {
  made.reset(new LaunchGraph());
  made->last_ = list;
  return made->build();
}

cudaError_t LaunchGraph::build() {
  if (const cudaError_t error = cudaGraphCreate(&graph_, 0); error != cudaSuccess) return error;
  // As a launch with programmatic serialization follows the one before it on a stream.
  cudaGraphEdgeData early = {};
  early.from_port = cudaGraphKernelNodePortProgrammatic;
  early.type = cudaGraphDependencyTypeProgrammatic;
  const cudaGraphEdgeData* edge = launches_early() ? &early : nullptr;
  for (size_t i = 0; i < last_.size(); ++i) {
    const cudaKernelNodeParams node = node_parameters(last_, i);
    cudaGraphNodeParams parameters = {};
    parameters.type = cudaGraphNodeTypeKernel;
    parameters.kernel.func = node.func;
    parameters.kernel.gridDim = node.gridDim;
    parameters.kernel.blockDim = node.blockDim;
    parameters.kernel.sharedMemBytes = node.sharedMemBytes;
    parameters.kernel.kernelParams = node.kernelParams;
    const size_t before = nodes_.empty() ? 0 : 1;
    cudaGraphNode_t added = nullptr;
    if (const cudaError_t error =
            cudaGraphAddNode(&added, graph_, before > 0 ? &nodes_.back() : nullptr,
                             before > 0 ? edge : nullptr, before, &parameters);
        error != cudaSuccess) {
      return error;
    }
    nodes_.push_back(added);
  }
  return cudaGraphInstantiate(&runnable_, graph_, 0);
}

LaunchGraph::~LaunchGraph() {
  if (runnable_ != nullptr) cudaGraphExecDestroy(runnable_);
  if (graph_ != nullptr) cudaGraphDestroy(graph_);
}

bool LaunchGraph::is_near(const LaunchList& list) const {
  if (list.size() != last_.size()) return false;
  size_t different = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    if (!last_.same_kernel(i, list)) return false;
    if (!last_.same_launch(i, list) && 2 * ++different > list.size()) return false;
  }
  return true;
}

cudaError_t LaunchGraph::launch(const LaunchList& list, cudaStream_t stream) {
  for (size_t i = 0; i < list.size(); ++i) {
    if (last_.same_launch(i, list)) continue;
    last_.take(i, list);
    const cudaKernelNodeParams node = node_parameters(last_, i);
    if (const cudaError_t error = cudaGraphExecKernelNodeSetParams(runnable_, nodes_[i], &node);
        error != cudaSuccess) {
      return error;
    }
  }
  return cudaGraphLaunch(runnable_, stream);
}

}  // namespace rota
