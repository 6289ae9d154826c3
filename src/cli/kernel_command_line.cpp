// SPDX-License-Identifier: MIT
#include "cli/kernel_command_line.hpp"

#include "cli/validators.hpp"
#include "cli/version_flag.hpp"

#include <fmt/format.h>

namespace norite::cli {
namespace {

constexpr const char* kKernel =
    "Lists, checks and runs the kernels of a file in Metal Shading Language, on any machine.\n";
constexpr const char* kKernelFooter = R"(
Examples:
  norite kernel list scale.metal              its kernels and what they take
  norite kernel check scale.metal             what Metal would refuse, with file and line
  norite kernel run scale.metal --entry scale --grid 1000 --threads 256 --checked \
      --arg 0=x.npy --arg 1=zeros:f32[1000] --arg 2=bytes:f32:0.5)";

constexpr const char* kList =
    "Shows the kernels of a file: their arguments by index, threadgroup memory and function\n"
    "constants. Nothing is compiled.\n";
constexpr const char* kListFooter = R"(
The index is what --arg and --threadgroup-memory of 'norite kernel run' take.

Examples:
  norite kernel list scale.metal
  norite kernel list scale.metal --define WIDTH=4 --json)";

constexpr const char* kCheck =
    "Compiles every kernel of a file and looks for what Metal would refuse or what would not run\n"
    "everywhere. Each finding is a line 'file:line:column: severity: message'; errors exit with "
    "1.\n";
constexpr const char* kCheckFooter = R"(
Examples:
  norite kernel check scale.metal
  norite kernel check scale.metal -I include --define WIDTH=4)";

constexpr const char* kRun =
    "Runs one kernel of a file on arrays from .npy files and shows or saves what it wrote.\n";
constexpr const char* kRunFooter = R"(
SPEC, what a buffer holds:
  x.npy                 an array of NumPy: f32, f16, i32, u32, i16, u16, i8, u8, bool
  x.npy:bf16            its 16-bit integers are bf16; saved, they are 16-bit integers again
  zeros:f32[4,5]        zeros of that dtype and shape
  random:f32[4,5]       normally distributed numbers, the same in every run
  bytes:f32:1e-6,300    these values, for an argument that the kernel only reads
  bytes:f32:1e-6,u32:7  the same for a struct: float, then uint; padding must be written out

The grid: --groups counts groups of --threads threads; --grid counts threads, and the groups at
its edges are smaller where it is no multiple of --threads.

Examples:
  norite kernel run scale.metal --entry scale --grid 1000 --threads 256 \
      --arg 0=x.npy --arg 1=zeros:f32[1000] --arg 2=bytes:f32:0.5 --save 1=y.npy
  norite kernel run norm.metal --entry rms_norm --groups 37 --threads 256 \
      --threadgroup-memory 0:1024 --arg 0=x.npy --arg 1=zeros:f32[37] \
      --arg 2=bytes:f32:1e-6,300 --checked

With --checked, accesses outside of a buffer, races, divergent barriers and reads of threadgroup
memory that nothing wrote are reported with the kernel's line, and the command exits with 1.)";

}  // namespace

KernelCommandLine::KernelCommandLine(CLI::App& parent, std::function<ExitCode()>& chosen)
    : kernel_(parent.add_subcommand("kernel", "List, check and run kernels of a .metal file")),
      chosen_(chosen) {
  kernel_->footer(kKernelFooter);
  kernel_->require_subcommand(0, 1);
  kernel_->preparse_callback([this](size_t) { kernel_->description(kKernel); });
  kernel_->callback([this] {
    if (!kernel_->get_subcommands().empty()) return;
    chosen_ = [this] {
      fmt::print("{}", kernel_->help("norite"));
      return ExitCode::ok;
    };
  });
  add_verb("list", kernel_list, "Show kernels and what they take", kList, kListFooter);
  add_verb("check", kernel_check, "Find what Metal would refuse", kCheck, kCheckFooter);
  add_run_options(add_verb("run", kernel_run, "Run a kernel on arrays", kRun, kRunFooter));
}

CLI::App* KernelCommandLine::add_verb(const std::string& name, Verb verb,
                                      const std::string& summary, const std::string& description,
                                      const std::string& footer) {
  CLI::App* sub = kernel_->add_subcommand(name, summary);
  sub->footer(footer);
  sub->add_option("FILE", options_.file, "A file in Metal Shading Language")
      ->required()
      ->type_name("");
  add_list(sub, "-D,--define", options_.defines, "A macro that the file uses", "NAME=VALUE");
  add_list(sub, "-I,--include", options_.include_directories,
           "Where #include looks, after the file's own folder", "DIR");
  sub->add_flag("--json", options_.common.json, "Print JSON on stdout, and no progress");
  add_version_flag(*sub);
  sub->callback([this, verb] { chosen_ = [this, verb] { return verb(options_); }; });
  sub->preparse_callback([sub, description](size_t) { sub->description(description); });
  return sub;
}

void KernelCommandLine::add_run_options(CLI::App* verb) {
  const std::string extents = "X[,Y[,Z]]";
  verb->add_option("--entry", options_.entry, "The kernel's name, where the file has several")
      ->type_name("NAME");
  verb->add_option("--groups", options_.groups, "Groups of the grid")->type_name(extents);
  verb->add_option("--grid", options_.grid, "Threads of the grid, instead of --groups")
      ->type_name(extents);
  verb->add_option("--threads", options_.threads, "Threads of a group")->type_name(extents);
  add_list(verb, "--threadgroup-memory", options_.threadgroup_memory,
           "Size of a [[threadgroup(INDEX)]] argument", "INDEX:BYTES");
  add_list(verb, "--arg", options_.arguments, "What [[buffer(INDEX)]] holds", "INDEX=SPEC");
  add_list(verb, "--save", options_.saves, "Write that buffer to a file afterwards",
           "INDEX=FILE.npy");
  add_list(verb, "--constant", options_.constants, "A function constant, by name or index",
           "NAME=VALUE");
  verb->add_option("--device", options_.common.device, "A device as 'norite devices' names it")
      ->type_name("ID");
  verb->add_flag("--checked", options_.checked,
                 "Look for mistakes while it runs, on the cpu; slow");
  verb->add_flag("--time", options_.time, "Run it several times and show the median");
  verb->add_option("--time-limit", options_.time_limit_s,
                   fmt::format("Cancel a longer run on the cpu; default {}, 0 is no limit",
                               kDefaultTimeLimitSeconds))
      ->check(seconds_up_to(1e6))
      ->type_name("SECONDS");
}

void KernelCommandLine::add_list(CLI::App* verb, const std::string& name,
                                 std::vector<std::string>& target, const std::string& help,
                                 const std::string& type) {
  // One value each time: what follows may be the file.
  verb->add_option(name, target, help)->allow_extra_args(false)->type_name(type);
}

}  // namespace norite::cli
