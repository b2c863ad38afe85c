// One GPU and the one stream on which everything asked of it runs in order. Owns the stream, and
// the first thing that went wrong on it; knows no operation.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <string>

#include "base/status.h"
#include "device/cuda/launch_queue.cuh"

namespace rota {

// "EXPRESSION on cuda:0: cudaErrorX: what CUDA says of it".
std::string cuda_error_text(cudaError_t error, const char* expression, int index);

class CudaStream {
 public:
  // kLoad "no CUDA device: ...", with why and what to do: no driver, one that is too old, no
  // device, none of that index.
  static Result<std::unique_ptr<CudaStream>> open(int index);
  ~CudaStream();
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  int index() const { return index_; }
  const std::string& device_name() const { return device_name_; }  // "NVIDIA H200"
  int processors() const { return processors_; }                   // streaming multiprocessors

  // Makes its GPU the calling thread's: CUDA keeps that choice for each thread.
  void make_current() const { cudaSetDevice(index_); }
  // The stream, everything that was asked through the queue on it.
  cudaStream_t use() {
    flush();
    return stream_;
  }
  // For kernels: in a pass they are kept until use() or flush().
  LaunchQueue& queue() {
    make_current();
    return queue_;
  }
  void flush() {
    make_current();
    note(queue_.flush(), "launching a pass's kernels");
  }
  // The same of kernels that a later pass will ask for with other parameters.
  void flush_once() {
    make_current();
    note(queue_.flush_once(), "launching kernels");
  }
  // rows 0: what comes again in no way (LaunchQueue::begin_pass).
  void begin_pass(int rows) {
    make_current();
    note(queue_.begin_pass(rows), "launching a pass's kernels");
  }

  // True for success. The first failure stays: what a GPU computes after one is worth nothing.
  bool note(cudaError_t error, const char* expression);
  // Failures of what was launched since the last call belong to `what`.
  void note_launch(const char* what) { note(cudaGetLastError(), what); }
  // Waits for all that was asked.
  Status wait();
  // kIo: the first failure.
  const Status& status() const { return status_; }

  // Zeroed; 256-byte aligned. kOutOfMemory: what, the bytes asked and the bytes free.
  Result<void*> allocate(size_t bytes, const char* what);
  void release(void* address);
  // Of the host, where the GPU can reach it. kOutOfMemory: what, the bytes and why.
  Result<void*> allocate_pinned(size_t bytes, const char* what);

 private:
  CudaStream() = default;

  int index_ = 0, processors_ = 0;
  cudaStream_t stream_ = nullptr;
  LaunchQueue queue_;
  std::string device_name_;
  Status status_;
};

// bool: whether it went well; what did not is kept in `stream`.
#define CUDA_CHECK(stream, expression) ((stream).note((expression), #expression))

}  // namespace rota
