// SPDX-License-Identifier: MIT
// Lanes that take different ways are executed one after the other, those that are behind first, so
// that they come together again; now and then others, so that none waits for what a lane behind it
// does.
#include <algorithm>
#include <bit>
#include <cstring>

#include "cuda/ptx/machine.hpp"

namespace norite::ptx {

void Warp::start(Group& group, unsigned index) {
  group_ = &group;
  index_ = index;
  meetings_ = 0;
  const Launch& launch = group.execution().launch;
  const Kernel& kernel = *launch.kernel;
  file_.resize(kernel.file_bytes);
  std::memcpy(file_.data() + kernel.constants_begin, kernel.constants.data(),
              kernel.constants.size());
  const unsigned threads = launch.threads[0] * launch.threads[1] * launch.threads[2];
  const unsigned lanes = std::min(kLanes, threads - index * kLanes);
  splits_ = {{0, lanes == kLanes ? kAll : (Mask{1} << lanes) - 1, Split::State::ready}};
  current_ = 0;
  for (auto& copies : copies_) copies.clear();
  copy_groups_ = {};

  for (const Special& special : kernel.specials) {
    uint32_t* const values = at<uint32_t>(special.at);
    for (unsigned lane = 0; lane < kLanes; ++lane) values[lane] = value_of(special, lane);
  }
}

uint32_t Warp::value_of(const Special& special, unsigned lane) const {
  const Launch& launch = group_->execution().launch;
  const Dim3& threads = launch.threads;
  switch (special.kind) {
    case Special::Kind::thread: {
      const std::array<unsigned, 3> before = {1, threads[0], threads[0] * threads[1]};
      return thread(lane) / before[special.axis] % threads[special.axis];
    }
    case Special::Kind::threads:
      return threads[special.axis];
    case Special::Kind::group:
      return group_->position()[special.axis];
    case Special::Kind::groups:
      return launch.groups[special.axis];
    case Special::Kind::lane:
      return lane;
  }
  return 0;
}

Mask Warp::alive() const {
  Mask lanes = 0;
  for (const Split& split : splits_) lanes |= split.lanes;
  return lanes;
}

bool Warp::ready() const {
  return std::ranges::any_of(splits_,
                             [](const Split& one) { return one.state == Split::State::ready; });
}

/// The ready split that is furthest behind.
void Warp::choose() {
  size_t best = splits_.size();
  for (size_t i = 0; i < splits_.size(); ++i) {
    if (splits_[i].state != Split::State::ready) continue;
    if (best == splits_.size() || splits_[i].next < splits_[best].next) best = i;
  }
  current_ = best;
}

/// Splits that are at the same instruction become one. The current one stays so, if it can go on.
void Warp::merge() {
  for (size_t i = 0; i < splits_.size(); ++i) {
    for (size_t j = splits_.size() - 1; j > i; --j) {
      Split &one = splits_[i], &other = splits_[j];
      const bool barrier =
          one.state == Split::State::at_barrier || other.state == Split::State::at_barrier;
      if (one.next != other.next || barrier) continue;
      one.lanes |= other.lanes;
      one.state = Split::State::ready;
      splits_.erase(splits_.begin() + static_cast<ptrdiff_t>(j));
      if (current_ == j) current_ = i;
      if (current_ > j) --current_;
    }
  }
}

void Warp::branch(const Instruction& instruction, Mask taken) {
  Split& split = splits_[current_];
  const Mask others = split.lanes & ~taken;
  const uint32_t behind = split.next + 1;
  if (others == 0) {
    split.next = instruction.target;
  } else if (taken == 0) {
    split.next = behind;
  } else {
    split.next = behind;
    split.lanes = others;
    splits_.push_back({instruction.target, taken, Split::State::ready});
  }
}

void Warp::end(Mask lanes) {
  Split& split = splits_[current_];
  split.lanes &= ~lanes;
  ++split.next;
  if (split.lanes == 0) splits_.erase(splits_.begin() + static_cast<ptrdiff_t>(current_));
  for (Split& other : splits_) {  // perhaps nobody else is to come
    if (other.state == Split::State::at_meeting) other.state = Split::State::ready;
  }
  group_->leave(static_cast<unsigned>(std::popcount(lanes)));
}

/// Whether all lanes that take part are here. Those that have ended are not waited for.
bool Warp::meet(const Instruction& instruction) {
  Split& split = splits_[current_];
  const auto first = static_cast<unsigned>(std::countr_zero(split.lanes));
  const Mask wanted = at<uint32_t>(instruction.mask)[first] & alive();
  if ((split.lanes & ~at<uint32_t>(instruction.mask)[first]) != 0) {
    throw Fault(Fault::Kind::divergence, "a lane meets others without being asked: " +
                                             group_->describe(thread(first), instruction.line));
  }
  if ((wanted & ~split.lanes) == 0) {
    if (instruction.run == nullptr) ++meetings_;  // shuffles and votes order no memory
    return true;
  }
  split.state = Split::State::at_meeting;
  return false;
}

void Warp::leave_barrier() {
  for (Split& split : splits_) {
    if (split.next != splits_.front().next) {
      throw Fault(Fault::Kind::divergence,
                  "lanes of a warp are at different barriers: " + group_->describe(thread(0), 0));
    }
  }
  for (Split& split : splits_) {
    split.state = Split::State::ready;
    ++split.next;
  }
  ++meetings_;
  merge();
}

void Warp::run(unsigned instructions) {
  Execution& execution = group_->execution();
  const Instruction* const code = execution.launch.kernel->code.data();
  choose();
  const bool its_turn = splits_.size() > 1 && execution.random() % 8 == 0;
  if (its_turn) {  // of any that is ready
    do {
      current_ = execution.random() % splits_.size();
    } while (splits_[current_].state != Split::State::ready);
  }
  while (instructions-- > 0) {
    Split& split = splits_[current_];
    const Instruction& instruction = code[split.next];
    Mask lanes = split.lanes;
    if (instruction.guarded) {
      const Mask guard = *at<Mask>(instruction.guard);
      lanes &= instruction.guard_negated ? ~guard : guard;
    }
    ++execution.idle;
    switch (instruction.control) {
      case Control::none:
        if (lanes != 0) instruction.run(*this, instruction, lanes);
        ++split.next;
        break;
      case Control::branch:
        branch(instruction, lanes);
        break;
      case Control::exit:
        end(lanes);
        if (splits_.empty()) return;
        break;
      case Control::barrier:
        split.state = Split::State::at_barrier;
        group_->arrive(static_cast<unsigned>(std::popcount(split.lanes)));
        break;
      case Control::meeting:
        if (meet(instruction)) {
          if (instruction.run != nullptr) instruction.run(*this, instruction, lanes);
          ++split.next;
        }
        break;
    }
    if (splits_.size() > 1) merge();
    // The split that is furthest behind goes on, unless it is another one's turn.
    const bool ready = current_ < splits_.size() && splits_[current_].state == Split::State::ready;
    if (!ready || (!its_turn && splits_.size() > 1)) choose();
    if (current_ >= splits_.size()) return;
  }
}

// --- Copies to shared memory --------------------------------------------------------------------

void Warp::begin_copy(unsigned lane, Copy copy) {
  copy.group = copy_groups_[lane];
  copies_[lane].push_back(copy);
}

void Warp::end_copies(Mask lanes) {
  for (unsigned lane = 0; lane < kLanes; ++lane) copy_groups_[lane] += lanes >> lane & 1;
}

void Warp::await_copies(Mask lanes, unsigned behind, const Arrive& arrive) {
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    auto& copies = copies_[lane];
    size_t done = 0;
    for (; done < copies.size() && copies[done].group + behind < copy_groups_[lane]; ++done) {
      arrive(lane, copies[done]);
    }
    copies.erase(copies.begin(), copies.begin() + static_cast<ptrdiff_t>(done));
  }
}

}  // namespace norite::ptx
