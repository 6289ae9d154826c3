// SPDX-License-Identifier: MIT
// Kernels written in C++ for devices whose memory the host addresses: the CPU backend's own, and
// those a user registers.
#pragma once

#include <norite/error.hpp>
#include <norite/view.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace norite {

enum class Access : uint8_t {
  read,
  write,
  read_write,
  bytes,  ///< not memory: a small block of constants, copied when the dispatch is recorded
  none,   ///< the kernel takes nothing at this position
};

/// What a kernel takes at one position.
struct Parameter {
  std::string name;
  Access access = Access::read;
  bool optional = false;  ///< may be left unbound
  /// Constants may stand for the memory that is read, as Metal's setBytes has it.
  bool constants_allowed = false;
  int64_t min_bytes = 0;  ///< what a reference names, or one element of a pointer
};

/// How many groups of how many threads. Native kernels divide their work themselves and ignore it.
struct Grid {
  std::array<int64_t, 3> groups = {1, 1, 1};
  std::array<int64_t, 3> threads = {1, 1, 1};  ///< of a group
  /// Threads of the whole grid where they are no whole number of groups: the groups at the edges
  /// are smaller then. Zeros mean groups times threads.
  std::array<int64_t, 3> total = {0, 0, 0};
  /// Bytes of each [[threadgroup(n)]] argument of a kernel's text.
  std::vector<int64_t> threadgroup_memory = {};

  /// As many groups as it takes to have `total` threads.
  [[nodiscard]] static Grid of_threads(const std::array<int64_t, 3>& total,
                                       const std::array<int64_t, 3>& threads) {
    Grid grid{.threads = threads, .total = total};
    for (size_t axis = 0; axis < 3; ++axis) {
      if (threads[axis] > 0) grid.groups[axis] = (total[axis] - 1) / threads[axis] + 1;
    }
    return grid;
  }
};

/// A value bound to one position of a dispatch: a view, constants, or nothing.
class NORITE_API Argument {
 public:
  Argument() = default;
  Argument(const View& view) : view_(view) {}        // NOLINT: views are arguments
  Argument(const Buffer& buffer) : view_(buffer) {}  // NOLINT
  /// Constants: any struct of plain data.
  template <class T>
  [[nodiscard]] static Argument bytes(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    Argument argument;
    const auto* first = reinterpret_cast<const std::byte*>(&value);
    argument.bytes_.assign(first, first + sizeof(T));
    return argument;
  }

  [[nodiscard]] bool bound() const noexcept { return view_ || !bytes_.empty(); }
  [[nodiscard]] const View& view() const noexcept { return view_; }
  [[nodiscard]] std::span<const std::byte> constants() const noexcept { return bytes_; }

 private:
  View view_;
  std::vector<std::byte> bytes_;
};

/// What a native kernel sees of its dispatch. It lives as long as the call.
class NORITE_API NativeCall {
 public:
  virtual ~NativeCall() = default;

  [[nodiscard]] std::span<const Argument> arguments() const noexcept { return arguments_; }
  [[nodiscard]] const Grid& grid() const noexcept { return grid_; }
  [[nodiscard]] const View& view(size_t index) const noexcept { return arguments_[index].view(); }
  /// First element of an argument's view; nullptr when it was left unbound.
  template <class T>
  [[nodiscard]] T* data(size_t index) const noexcept {
    return reinterpret_cast<T*>(view(index).host_data());
  }
  /// The constants bound at a position, which must be of that type.
  template <class T>
  [[nodiscard]] const T& constants(size_t index) const noexcept {
    return *reinterpret_cast<const T*>(arguments_[index].constants().data());
  }

  /// Calls body on disjoint ranges that cover [0, count), each at most `grain` long and starting at
  /// a multiple of it, from the device's threads. What a range computes must not depend on which
  /// thread runs it or when: that is what keeps results the same for every thread count. The
  /// threads share body itself, which is not copied.
  template <class Body>
    requires std::invocable<const Body&, int64_t, int64_t>
  void parallel_for(int64_t count, int64_t grain, const Body& body) const {
    run_ranges(count, grain, std::cref(body));
  }

 protected:
  using RangeBody = std::function<void(int64_t begin, int64_t end)>;
  virtual void run_ranges(int64_t count, int64_t grain, const RangeBody& body) const = 0;

  NativeCall(std::span<const Argument> arguments, const Grid& grid) noexcept
      : arguments_(arguments), grid_(grid) {}

 private:
  std::span<const Argument> arguments_;
  Grid grid_;
};

using NativeFunction = std::function<Result<void>(const NativeCall&)>;

struct NativeKernel {
  std::string name;
  std::vector<Parameter> parameters;
  NativeFunction run;
};

}  // namespace norite
