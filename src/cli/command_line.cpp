// SPDX-License-Identifier: MIT
#include "cli/command_line.hpp"

#include "cli/kernel_command_line.hpp"
#include "cli/text.hpp"
#include "cli/validators.hpp"
#include "cli/verb_first.hpp"
#include "cli/verbs.hpp"
#include "cli/version_flag.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <functional>
#include <optional>

namespace norite::cli {
namespace {

constexpr const char* kDescription =
    "Norite runs the kernels of transformer models, forward and backward, checks them against\n"
    "float64 and measures them against the machine's memory bandwidth.\n";

constexpr const char* kFooter = R"(
Examples:
  norite demo                                 every operation on shapes of real models
  norite verify --filter 'rms_norm[bf16'      the cases whose names contain that text
  norite verify --reference ops.safetensors   results of another program, from a file
  norite bench --filter backward --json       measurements, for another program to read
  norite ops --markdown                       the support table of the documentation
  norite kernel check scale.metal             a kernel of your own; see 'norite kernel'
  norite graph show block.json                a captured graph, as Graphviz text

Environment:
  NORITE_DEVICE        the device where --device is not given
  NORITE_NUM_THREADS   the number of threads where --threads is not given
  NORITE_CPU_TARGET    a SIMD level instead of the best one; 'norite --version' lists them
  NORITE_CPU_L1_KIB    the size of a core's L1 data cache, where the system's answer is wrong
  NORITE_CACHE_DIR     the folder for compiled kernels
  NORITE_CLANG         the clang++ that compiles kernel text for the CPU
  NORITE_CUDA_LIBRARY  the path of NVIDIA's driver library
  NORITE_NVRTC         the path of the library that compiles kernels for NVIDIA GPUs
  NORITE_METAL_RUNTIME a library in place of macOS's Metal; for tests
  CUDA_LAUNCH_BLOCKING CUDA's own: with 1, every launch is waited for
  NO_COLOR             no colours, even on a terminal

Exit codes:
  0   fine
  1   a check failed, or a kernel while it ran
  2   the command line is wrong
  3   no such device, or not supported on it
  4   the input file is bad, or a kernel does not compile
  70  an error inside Norite, or output that could not be written)";

constexpr const char* kDemo =
    "Runs every operation on shapes of Llama 3, Qwen3 and Gemma 3, checks the results against\n"
    "float64 and times them; 'of roof' is the share of the copy bandwidth measured in between.\n";

constexpr const char* kDevices = "Lists the devices that this machine has, the best first.\n";

constexpr const char* kOps =
    "Shows which operation runs on which backend with which dtype. The table follows from the\n"
    "cases that verify it and from asking each device to record them.\n";

constexpr const char* kVerify =
    "Runs the case table: every operation with its sizes and options. Outputs are compared with\n"
    "float64, errors with a tolerance that follows from the dtype and the number of terms, and\n"
    "guard bytes around every tensor with what they were.\n";
constexpr const char* kVerifyFooter = R"(
With --reference, the cases come from a safetensors file instead: its metadata key 'cases' is a
JSON object from case names to parameters, and CASE/FIELD names each tensor. Read are cases of the
operations rms_norm, residual_rms_norm, head_norm_rope, rope and attention (its D); others are
skipped.

Examples:
  norite verify                                 all of them; a GPU compiles its kernels first
  norite verify -v --filter 'in_place'          one line for each case that runs in place
  NORITE_CPU_TARGET=SSE4 norite verify          on another SIMD level
  norite verify --device cpu --kernels msl      the kernels that GPUs run, executed on the CPU
  norite verify --json --reference ops.safetensors)";

constexpr const char* kBench =
    "Measures how near operations come to the memory bandwidth of a plain copy (the D pre-pass: "
    "of\n"
    "plain reads), which is measured on the same threads between their repeats.\n";
constexpr const char* kBenchFooter = R"(
Times are medians. Bytes count each operand once. A share above 1 means that the data fits in a
cache, or that memory became faster or slower meanwhile. Captured graphs are measured after the
operations; with --filter only where no case has the text in its name, as with the last two
examples.

Examples:
  norite bench                                  everything, in a few minutes
  norite bench --threads 1 --filter 'rms_norm['
  norite bench --json --min-time 2 > bench.json
  norite bench --filter gemma                   a block of a model: eager, replayed, optimised
  norite bench --filter decode                  norms of a decoder in a graph)";

constexpr const char* kGraphFooter = R"(
Examples:
  norite graph show block.json | dot -Tsvg > block.svg)";
constexpr const char* kGraphShow =
    "Prints the operations of a captured graph, which of them wait for which, and which run side "
    "by\n"
    "side, as text for Graphviz.\n";
constexpr const char* kGraphShowFooter = R"(
Examples:
  norite graph show block.json | dot -Tsvg > block.svg
  norite graph show --table block.json)";

using Verb = ExitCode (*)(const Options&);

/// The command's verbs as CLI11 sees them, with the options that each has.
class CommandLine {
 public:
  CommandLine() {
    app_.footer(kFooter);
    add_version_flag(app_);
    app_.require_subcommand(0, 1);
    add_verbs();
  }

  ExitCode run(int argc, char** argv) {
    options_.command = "norite";
    for (int i = 1; i < argc; ++i) options_.command += " " + shell_word(argv[i]);
    auto arguments = verb_first({argv + std::min(argc, 1), argv + argc}, app_);
    const bool option_first = !arguments.empty() && arguments.front().starts_with('-');
    std::ranges::reverse(arguments);  // as CLI11 wants them
    try {
      app_.parse(std::move(arguments));
    } catch (const CLI::Success& request) {  // --help, --version
      app_.exit(request);
      return ExitCode::ok;
    } catch (const CLI::ParseError& error) {
      const char* order =
          option_first ? "Options follow their verb, as in 'norite verify --verbose'.\n" : "";
      return report_usage(
          fmt::format("{}\n{}See 'norite{} --help'.", error.what(), order, parsed_verb()));
    }
    if (!chosen_) {
      fmt::print("{}", app_.help());
      return ExitCode::ok;
    }
    return chosen_();
  }

 private:
  void add_verbs() {
    add_filter(add_verb("demo", demo, "Check and time every operation on real shapes", kDemo));
    add_filter(add_verb("devices", devices, "List the devices of this machine", kDevices));

    CLI::App* ops_verb = add_verb("ops", ops, "Show what runs where, on which dtype", kOps);
    add_filter(ops_verb);
    ops_verb->add_flag("--markdown", options_.markdown, "Print the table as Markdown");

    CLI::App* verify_verb = add_verb("verify", verify, "Check results against float64", kVerify);
    add_filter(verify_verb);
    verify_verb->footer(kVerifyFooter);
    CLI::Option* reference =
        verify_verb->add_option("--reference", options_.reference, "Check the cases of this file")
            ->check(not_empty())
            ->type_name("FILE");
    verify_verb->add_option("--kernels", options_.kernels, "native (default), or msl: kernel text")
        ->check(CLI::IsMember({"native", "msl"}).description(""))
        ->type_name("FORM");
    verify_verb->add_flag("--checked", options_.checked,
                          "Run kernel text checked: --kernels msl, on the cpu alone");
    verify_verb->add_flag("--large", options_.large, "Also a case beyond 2^31 elements")
        ->excludes(reference);
    verify_verb->add_flag("-v,--verbose", options_.verbose, "List every case");

    CLI::App* bench_verb = add_verb("bench", bench, "Measure shares of the copy bandwidth", kBench);
    add_filter(bench_verb);
    bench_verb->footer(kBenchFooter);
    bench_verb->add_option("--min-time", options_.min_time_s, "Time for each case, default 0.4")
        ->check(seconds_up_to(3600))
        ->type_name("SECONDS");

    add_graph();
    kernel_.emplace(app_, chosen_);
  }

  void add_graph() {
    CLI::App* graph = app_.add_subcommand("graph", "Look at captured graphs");
    graph->footer(kGraphFooter);
    graph->require_subcommand(0, 1);
    graph->callback([this, graph] {
      if (!graph->get_subcommands().empty()) return;
      chosen_ = [graph] {
        fmt::print("{}", graph->help("norite"));
        return ExitCode::ok;
      };
    });
    CLI::App* show = graph->add_subcommand("show", "Print a graph as Graphviz text");
    show->footer(kGraphShowFooter);
    show->add_option("FILE", options_.file, "What Graph::json() gave")->required()->type_name("");
    CLI::Option* table = show->add_flag("--table", options_.table, "Print a table instead");
    show->add_flag("--json", options_.json, "Print JSON instead")->excludes(table);
    add_version_flag(*show);
    show->callback([this] { chosen_ = [this] { return graph_show(options_); }; });
    show->preparse_callback([show](size_t) { show->description(kGraphShow); });
  }

  CLI::App* add_verb(const std::string& name, Verb verb, const std::string& summary,
                     const std::string& description) {
    CLI::App* sub = app_.add_subcommand(name, summary);
    sub->footer("");
    sub->add_flag("--json", options_.json, "Print JSON on stdout, and no progress");
    sub->add_option("--device", options_.device, "A device as 'norite devices' names it")
        ->type_name("ID");
    sub->add_option("--threads", options_.threads, "CPU threads that run kernels")
        ->check(CLI::Range(1, 1024).description(""))
        ->type_name("N");
    add_version_flag(*sub);
    sub->callback([this, verb] { chosen_ = [this, verb] { return verb(options_); }; });
    // The list of verbs shows the summary; a verb's own help says more.
    sub->preparse_callback([sub, description](size_t) { sub->description(description); });
    return sub;
  }

  void add_filter(CLI::App* verb) {
    verb->add_option("--filter", options_.filter, "Only what has this text in its name")
        ->type_name("TEXT");
  }

  /// " kernel run" where the arguments got as far as naming a verb.
  std::string parsed_verb() const {
    std::string names;
    for (auto verbs = app_.get_subcommands(); !verbs.empty();
         verbs = verbs.front()->get_subcommands()) {
      names += " " + verbs.front()->get_name();
    }
    return names;
  }

  CLI::App app_{kDescription, "norite"};
  Options options_;
  std::function<ExitCode()> chosen_;
  std::optional<KernelCommandLine> kernel_;  // made last, to be listed last
};

}  // namespace

ExitCode run_command(int argc, char** argv) { return CommandLine().run(argc, argv); }

}  // namespace norite::cli
