// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>

#include "backends/cuda/stream.hpp"

namespace norite::cuda {

/// A graph of what `put` puts on streams, the first of it on `origin`. The caller destroys it.
[[nodiscard]] Result<CUgraph> capture(const Stream& origin,
                                      const std::function<Result<void>()>& put);

/// A graph that can be launched. What it refers to must outlive its runs, and so must this.
class GraphInstance {
 public:
  explicit GraphInstance(std::shared_ptr<Context> context) : context_(std::move(context)) {}
  ~GraphInstance() { drop(); }
  GraphInstance(const GraphInstance&) = delete;
  GraphInstance& operator=(const GraphInstance&) = delete;

  /// Whether it took over the kernels and arguments of a graph of the same shape, for launches to
  /// come.
  [[nodiscard]] bool update(CUgraph graph);
  /// Made anew; after an error there is none.
  [[nodiscard]] Result<void> make(CUgraph graph);
  void drop();
  /// nullptr where there is none.
  [[nodiscard]] CUgraphExec handle() const noexcept { return exec_; }

 private:
  std::shared_ptr<Context> context_;
  CUgraphExec exec_ = nullptr;
};

}  // namespace norite::cuda
