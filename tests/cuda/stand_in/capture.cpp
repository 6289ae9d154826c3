// SPDX-License-Identifier: MIT
#include "cuda/stand_in/capture.hpp"

#include <algorithm>
#include <random>

namespace norite::test {

using namespace cuda;  // NOLINT: the names of the API are the point

void Captures::begin(CUstream origin) { by_origin_[origin] = {{{origin, {}}}, {}, {}}; }

std::optional<Nodes> Captures::end(CUstream origin) {
  const auto found = by_origin_.find(origin);
  if (found == by_origin_.end()) return std::nullopt;
  const Capture capture = std::move(found->second);
  by_origin_.erase(found);
  std::set<size_t> lasts;
  for (size_t i = 0; i < capture.nodes.size(); ++i) {
    lasts.insert(i);
    for (const size_t earlier : capture.nodes[i].waits_for) lasts.erase(earlier);
  }
  const auto& joined = capture.streams.at(origin);
  const bool all = std::ranges::all_of(lasts, [&](size_t last) { return joined.contains(last); });
  return all ? std::optional(capture.nodes) : std::nullopt;
}

CUresult Captures::put(CUstream stream, bool copy, Work work) {
  for (auto& [origin, capture] : by_origin_) {
    const auto found = capture.streams.find(stream);
    if (found == capture.streams.end()) continue;
    std::set<size_t>& before = found->second;
    capture.nodes.push_back({{before.begin(), before.end()}, stream, copy, std::move(work)});
    before = {capture.nodes.size() - 1};
    return CUDA_SUCCESS;
  }
  return work();
}

void Captures::record(CUevent event, CUstream stream) {
  for (auto& [origin, capture] : by_origin_) {
    capture.events.erase(event);
    const auto found = capture.streams.find(stream);
    if (found != capture.streams.end()) capture.events[event] = found->second;
  }
}

void Captures::wait(CUstream stream, CUevent event) {
  for (auto& [origin, capture] : by_origin_) {
    const auto found = capture.events.find(event);
    if (found == capture.events.end()) continue;
    capture.streams[stream].insert(found->second.begin(), found->second.end());
  }
}

bool same_shape(const Nodes& a, const Nodes& b) {
  return std::ranges::equal(a, b, [](const StandInNode& one, const StandInNode& other) {
    return one.waits_for == other.waits_for && one.copy == other.copy;
  });
}

CUresult launch(const Nodes& nodes) {
  static std::mt19937 random(1);
  std::set<size_t> done;
  while (done.size() < nodes.size()) {
    const size_t i = random() % nodes.size();
    const bool ready = std::ranges::all_of(nodes[i].waits_for,
                                           [&](size_t earlier) { return done.contains(earlier); });
    if (!ready || !done.insert(i).second) continue;
    if (const CUresult error = nodes[i].work()) return error;
  }
  return CUDA_SUCCESS;
}

}  // namespace norite::test
