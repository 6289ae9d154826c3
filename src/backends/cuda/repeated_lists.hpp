// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backends/cuda/constant_ring.hpp"
#include "backends/cuda/graph_instance.hpp"
#include "backends/cuda/kernel_module.hpp"
#include "core/command_list.hpp"

namespace norite::cuda {

/// Lists that come again with other arguments, the steps of a decoder or of a training loop: from
/// the second time on they are launched as a graph. Of a driver that takes 2.7 us to launch a
/// kernel, capturing a launch, updating the instance with it and launching that takes 0.5 to 0.9 us
/// a kernel (2.1 us where it is the only one), and the GPU goes from one to the next in 0.9 us.
/// Where kernels or grids are others, making or updating an instance takes as long as launching
/// them; where kernels are long, the GPU would wait for the capture. One thread at a time.
class RepeatedLists {
 public:
  /// The stream that the instances are launched on.
  explicit RepeatedLists(std::shared_ptr<Stream> stream) : stream_(std::move(stream)) {}

  /// The list as an instance to be launched once; nullptr where its commands are to be launched one
  /// by one, which also tells what is wrong with them.
  [[nodiscard]] CUgraphExec instance_of(const core::CommandList& list, ConstantRing& constants);

 private:
  /// What lists have in common that an instance can change between at little cost.
  struct Shape {
    std::vector<std::shared_ptr<const KernelModule>> modules;  // outlive instances
    std::vector<int64_t> grids;

    bool operator==(const Shape&) const = default;
  };
  struct Entry {
    explicit Entry(Shape of) : shape(std::move(of)) {}

    Shape shape;
    uint64_t used = 0;  // a count of all uses at the last one
    bool refused = false;
    std::unique_ptr<GraphInstance> instance;  // goes before the shape's modules
  };
  [[nodiscard]] static Result<Shape> shape_of(const core::CommandList& list);
  /// The one of that shape, new where there was none.
  [[nodiscard]] Entry& entry_of(Shape shape);
  /// Those that were used longest ago go, many at a time: any of them may still be running, and is
  /// waited for.
  void drop_half();
  [[nodiscard]] Result<void> become(Entry& entry, const core::CommandList& list,
                                    ConstantRing& constants);
  /// Instances that may be running stay until they have ended.
  [[nodiscard]] Result<void> renew(GraphInstance& instance, CUgraph graph);

  std::shared_ptr<Stream> stream_;
  std::shared_ptr<Stream> capturing_;  // nothing else is put on it
  std::vector<Entry> entries_;
  uint64_t count_ = 0;
};

}  // namespace norite::cuda
