// SPDX-License-Identifier: MIT
#pragma once

#include <norite/device.hpp>

#include <string>
#include <string_view>

namespace norite::cli {

/// What the command line asks for; every verb reads the fields that concern it.
struct Options {
  std::string device;        ///< empty: the best one
  std::string filter;        ///< empty: everything
  std::string reference;     ///< verify: a safetensors file
  double min_time_s = 0.4;   ///< bench: measured time of each case
  int threads = 0;           ///< 0: every core
  std::string kernels = {};  ///< verify: "msl" runs operations from kernel text
  bool checked = false;      ///< verify: kernel text runs checked
  bool json = false;
  bool verbose = false;   ///< verify: every case, not a summary
  bool large = false;     ///< verify: also beyond 2^31 elements
  bool markdown = false;  ///< ops
  std::string file = {};  ///< graph show
  bool table = false;     ///< graph show: operations as a table
  /// The command line itself, as a shell would take it.
  std::string command = {};
};

/// Opens the device that the options name; one that computes, or an error of code unsupported. What
/// the options do not say is as in `defaults`.
Result<Device> open_device(const Options& options, DeviceOptions defaults = {});
/// The options with the cpu as their device where none is named, for an option of the command that
/// it alone obeys.
/// Errors: invalid_argument where another device is named.
Result<Options> on_cpu(Options options, std::string_view option);
/// "AMD EPYC, AVX3, 2 threads"
std::string describe(const DeviceInfo& info);

}  // namespace norite::cli
