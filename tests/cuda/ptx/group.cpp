// SPDX-License-Identifier: MIT
#include <algorithm>

#include "cuda/ptx/machine.hpp"

namespace norite::ptx {

namespace {

constexpr uint8_t kRubbish = 0xff;  // a NaN in every type

}  // namespace

Group::Group(Execution& execution) : execution_(execution) {
  const Launch& launch = execution.launch;
  const unsigned threads = launch.threads[0] * launch.threads[1] * launch.threads[2];
  warps_.resize((threads - 1) / kLanes + 1);
  shared_.resize(launch.kernel->shared_bytes + launch.shared_bytes);
}

void Group::start(const Dim3& position) {
  const Launch& launch = execution_.launch;
  position_ = position;
  alive_ = launch.threads[0] * launch.threads[1] * launch.threads[2];
  arrived_ = 0;
  std::ranges::fill(shared_, kRubbish);
  races_.reset(shared_.size());
  for (unsigned i = 0; i < warps_.size(); ++i) warps_[i].start(*this, i);
}

bool Group::step() {
  const size_t first = execution_.random() % warps_.size();
  for (size_t i = 0; i < warps_.size(); ++i) {
    Warp& warp = warps_[(first + i) % warps_.size()];
    if (!warp.ready()) continue;
    warp.run(16 + static_cast<unsigned>(execution_.random() % 256));
    return true;
  }
  return false;
}

void Group::arrive(unsigned threads) {
  arrived_ += threads;
  release_if_met();
}

void Group::leave(unsigned threads) {
  alive_ -= threads;
  if (threads > 0) execution_.idle = 0;
  release_if_met();
}

void Group::release_if_met() {
  if (arrived_ == 0 || arrived_ < alive_) return;
  arrived_ = 0;
  execution_.idle = 0;
  races_.pass_barrier();
  for (Warp& warp : warps_) {
    if (!warp.ended()) warp.leave_barrier();
  }
}

std::string Group::describe(unsigned thread, int line) const {
  return "group " + std::to_string(position_[0]) + ", thread " + std::to_string(thread) +
         ", PTX line " + std::to_string(line);
}

uint8_t* Group::locate(Space space, uint64_t address, size_t bytes, unsigned thread, int line) {
  const auto refuse = [&](Fault::Kind kind, const std::string& what) {
    throw Fault(kind, what + " of " + std::to_string(bytes) + " bytes: " + describe(thread, line));
  };
  const auto within = [&](uint64_t begin, uint64_t size) {
    return address >= begin && address - begin <= size && size - (address - begin) >= bytes;
  };
  if (address % bytes != 0) refuse(Fault::Kind::misaligned, "a misaligned access");
  const Launch& launch = execution_.launch;
  if (space == Space::shared) {
    if (!within(0, launch.kernel->shared_bytes + launch.shared_bytes)) {
      refuse(Fault::Kind::address, "an access past shared memory");
    }
    return shared_.data() + address;
  }
  if (space == Space::param) {
    if (!within(0, launch.parameters.size())) {
      refuse(Fault::Kind::address, "an access past the parameters");
    }
    return const_cast<uint8_t*>(launch.parameters.data()) + address;  // nothing stores there
  }
  if (!within(found_begin_, found_bytes_)) {
    auto found = execution_.memory.upper_bound(address);
    if (found == execution_.memory.begin()) refuse(Fault::Kind::address, "an access to no memory");
    --found;
    if (!within(found->first, found->second)) {
      refuse(Fault::Kind::address, "an access at byte " + std::to_string(address - found->first) +
                                       " of " + std::to_string(found->second));
    }
    found_begin_ = found->first;
    found_bytes_ = found->second;
  }
  return reinterpret_cast<uint8_t*>(address);
}

// --- Launches -----------------------------------------------------------------------------------

namespace {

/// Groups of a launch that are not cooperative and run at the same time.
constexpr size_t kBeside = 3;
/// Without anything written or met in so many instructions, threads wait for each other.
constexpr uint64_t kStuck = 100'000'000;

/// Hands out groups from both ends of the grid.
class Positions {
 public:
  explicit Positions(const Dim3& groups)
      : groups_(groups), end_(uint64_t{groups[0]} * groups[1] * groups[2]) {}

  [[nodiscard]] bool empty() const { return begin_ == end_; }
  [[nodiscard]] uint64_t count() const { return end_ - begin_; }
  Dim3 take(std::mt19937_64& random) {
    const uint64_t number = random() % 2 == 0 ? begin_++ : --end_;
    const uint64_t row = number / groups_[0];
    return {static_cast<unsigned>(number % groups_[0]), static_cast<unsigned>(row % groups_[1]),
            static_cast<unsigned>(row / groups_[1])};
  }

 private:
  Dim3 groups_;
  uint64_t begin_ = 0, end_;
};

}  // namespace

void execute(const Launch& launch, const Allocations& memory, std::mt19937_64& random) {
  Execution execution{launch, memory, random};
  Positions positions(launch.groups);
  const size_t beside =
      launch.cooperative ? positions.count() : std::min<uint64_t>(kBeside, positions.count());
  std::vector<std::unique_ptr<Group>> groups;
  for (size_t i = 0; i < beside; ++i) {
    groups.push_back(std::make_unique<Group>(execution));
    groups.back()->start(positions.take(random));
  }
  while (!groups.empty()) {
    const size_t i = random() % groups.size();
    if (!groups[i]->step() || execution.idle > kStuck) {
      throw Fault(Fault::Kind::stuck,
                  "threads of \"" + launch.kernel->entry + "\" wait for what does not come");
    }
    if (groups[i]->ended() && !positions.empty()) {
      groups[i]->start(positions.take(random));
    } else if (groups[i]->ended()) {
      groups[i] = std::move(groups.back());
      groups.pop_back();
    }
  }
}

}  // namespace norite::ptx
