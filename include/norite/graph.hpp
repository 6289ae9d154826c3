// SPDX-License-Identifier: MIT
// Operations recorded once, improved as a whole and run again and again.
#pragma once

#include <norite/device.hpp>
#include <norite/graph_description.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace norite {

struct GraphOptions {
  bool fuse = true;         ///< operations that follow each other become one
  bool reorder = true;      ///< independent operations run side by side
  bool plan_memory = true;  ///< intermediates share one allocation
};

/// What optimise() did, and what it did not do and why.
struct GraphReport {
  struct Fusion {
    std::string rule;                     ///< "rms_norm, mul: rms_norm_mul"
    std::vector<std::string> operations;  ///< what became one operation, in order
    std::string result;
    /// The bits may differ from those of the separate operations: an intermediate is no longer
    /// rounded to its dtype.
    bool changes_bits = false;
  };
  struct Declined {
    std::string rule;
    std::string producer, consumer;
    std::string reason;
  };

  std::vector<Fusion> fused = {};
  std::vector<Declined> declined = {};    ///< pairs that a rule is about, but not allowed to fuse
  std::vector<std::string> removed = {};  ///< operations whose results nobody reads
  int64_t moved = 0;                      ///< operations that run earlier than they were recorded
  int64_t operations_before = 0, operations_after = 0;
  int64_t barriers_before = 0, barriers_after = 0;
  int64_t bytes_before = 0, bytes_after = 0;  ///< that operations read and write
  int64_t intermediate_bytes = 0;             ///< of intermediates that were placed in the arena
  int64_t arena_bytes = 0;                    ///< what they take there
  std::string arena_error = {};  ///< why there is no arena, where its memory was refused
};

/// The report for people, a line for each thing.
NORITE_API std::string to_string(const GraphReport& report);

/// A recorded sequence of dispatches.
///
/// The graph holds every buffer that it uses: dropping one's own handle frees nothing. A buffer
/// that only the graph holds when it is optimised, and that is written before it is read, is an
/// intermediate: nobody can look at it, so it may vanish or share memory. Whatever else the
/// dispatches write, a replay writes too.
///
/// A graph may be handed from thread to thread, but two must not use it at the same time: of calls
/// that return a Result, the second gets failed_precondition.
class NORITE_API Graph {
 public:
  using Record = std::function<Result<void>(Encoder&)>;

  /// Calls `record` with an encoder that takes down what ordinary calls ask of it; nothing runs.
  /// Its error, if any, is returned and nothing is kept. The encoder cannot be submitted, serves
  /// the calling thread alone and only until `record` returns; captures do not nest.
  [[nodiscard]] static Result<Graph> capture(const Device& device, const Record& record);

  ~Graph();
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph&&) noexcept;

  /// Rewrites the graph to do less work for the same results; once.
  [[nodiscard]] Result<GraphReport> optimise(const GraphOptions& options = {});

  /// Runs the graph on what its buffers hold now, after everything submitted before, and waits.
  [[nodiscard]] Result<void> replay();

  /// From now on `other` stands wherever the graph used `view` or a part of it; of a view with gaps,
  /// parts are refused. Both have the same dtype, shape and strides, are memory of the graph's device
  /// and begin at the same alignment. Errors: not_found (the graph does not use it),
  /// invalid_argument (a mismatch, or memory that the graph uses already).
  [[nodiscard]] Result<void> rebind(const View& view, const View& other);

  /// Operations and what they read and write, as it stands.
  [[nodiscard]] GraphDescription describe() const;
  /// The same as Graphviz text and as JSON.
  [[nodiscard]] std::string dot() const { return to_dot(describe()); }
  [[nodiscard]] std::string json() const { return to_json(describe()); }

 private:
  struct Impl;
  explicit Graph(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

}  // namespace norite
