// SPDX-License-Identifier: MIT
// How the stand-in for NVIDIA's driver and NVRTC behaves, and what it saw. Its "GPU" is host
// memory, and its kernels do what a test says.
//
// With the real NVRTC it computes: STAND_IN_CUDA_COMPUTES in the environment is a number of
// multiprocessors. Its compute capability is one that there is not, so that NVRTC gives PTX: that
// for 9.0, or the STAND_IN_CUDA_CAPABILITY of the environment. STAND_IN_CUDA_SEED gives another
// order in which threads run (computing.hpp).
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

namespace norite::test {

struct StandInLaunch {
  std::array<unsigned, 3> blocks, threads;
  unsigned shared_bytes = 0;
  void* stream = nullptr;
  void** parameters = nullptr;  // while the hook runs
  std::vector<int> attributes;  // of the launch
};

/// What a capture made of a launch or a copy.
struct StandInNode {
  std::vector<size_t> waits_for;  // nodes
  void* stream = nullptr;
  bool copy = false;
  std::function<int()> work;  // when the graph is launched; gives an error of the driver's
};

struct StandInCuda {
  // What it is.
  int driver_version = 13000;
  int nvrtc_major = 13, nvrtc_minor = 0;
  int devices = 1;
  int capability = 90;
  int multiprocessors = 4;
  bool computes = false;
  bool pools = true;
  std::array<unsigned long, 31> buffer_bytes = {};  // of every kernel
  int own_shared_bytes = 0;
  unsigned long long foreign = 0;  // an address that is another GPU's
  std::function<void(const StandInLaunch&)> on_launch;
  std::function<void()> on_wait;  // for an event

  // What goes wrong. `failing` names one function, which gives `error` after so many calls that
  // succeed; a fault answers every call on a GPU that has launched something, from the next wait
  // on.
  std::string failing;
  int error = 0;
  int calls_before = 0;
  int fault_after_launch = 0;
  bool updates_graphs = true;

  // What it saw.
  std::vector<StandInLaunch> launches;
  std::vector<std::string> compiled;  // texts
  std::vector<std::vector<std::string>> options;
  long live_allocations = 0;
  // Graphs: what the last capture saw, and what became of all of them.
  std::vector<StandInNode> nodes;
  long instantiated = 0, updated = 0, graph_launches = 0;
  long live_graphs = 0;  // and their instances
};

}  // namespace norite::test

/// The settings; what they are at first after a reset, which also ends a fault.
extern "C" __attribute__((visibility("default"))) norite::test::StandInCuda* stand_in_cuda();
extern "C" __attribute__((visibility("default"))) void stand_in_cuda_reset();
