// SPDX-License-Identifier: MIT
// The command as a shell sees it: exit codes, clean streams, JSON that keeps its promises.
#include "command.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>

namespace norite {
namespace {

using nlohmann::json;
using test::CommandResult;
using test::run_norite;

constexpr const char* kEscape = "\033";

void expect_keys(const json& object, std::initializer_list<const char*> keys) {
  for (const char* key : keys) EXPECT_TRUE(object.contains(key)) << key << " in " << object.dump();
}

TEST(Help, IsPrintedWithoutArguments) {
  const CommandResult result = run_norite("");
  EXPECT_EQ(result.exit_code, 0);
  for (const char* text :
       {"demo", "devices", "ops", "verify", "bench", "NORITE_DEVICE", "NORITE_NUM_THREADS",
        "NORITE_CPU_TARGET", "NORITE_CACHE_DIR", "NORITE_CLANG", "NORITE_CUDA_LIBRARY",
        "NORITE_NVRTC", "NORITE_METAL_RUNTIME", "CUDA_LAUNCH_BLOCKING", "NO_COLOR", "Exit codes"}) {
    EXPECT_NE(result.out.find(text), std::string::npos) << text;
  }
}

TEST(Help, IsThereForEveryVerb) {
  for (const std::string verb : {"demo", "devices", "ops", "verify", "bench"}) {
    const CommandResult result = run_norite(verb + " --help");
    EXPECT_EQ(result.exit_code, 0) << verb;
    for (const char* option :
         {"--help", "--version", "--json", "--device", "--threads", "--filter"}) {
      EXPECT_NE(result.out.find(option), std::string::npos) << verb << option;
    }
    EXPECT_EQ(result.err, "") << verb;
  }
}

TEST(Version, NamesCompilerBackendsAndSimdLevels) {
  const CommandResult result = run_norite("--version");
  EXPECT_EQ(result.exit_code, 0);
  for (const char* text :
       {"norite ", "compiler: ", "backends: ", "cuda", "cpu, null", "SIMD levels: "}) {
    EXPECT_NE(result.out.find(text), std::string::npos) << text;
  }
}

TEST(Version, IsToldByEveryVerb) {
  const CommandResult expected = run_norite("--version");
  for (const std::string verb : {"demo", "devices", "ops", "verify", "bench", "graph show",
                                 "kernel list", "kernel check", "kernel run"}) {
    const CommandResult result = run_norite(verb + " --version");
    EXPECT_EQ(result.exit_code, 0) << verb << result.err;
    EXPECT_EQ(result.out, expected.out) << verb;
  }
}

TEST(Usage, MistakesExitWith2AndExplainOnStderr) {
  for (const char* arguments : {"--nonsense",
                                "nonsense",
                                "verify --nonsense",
                                "bench --threads 0",
                                "bench --threads many",
                                "verify extra",
                                "verify --filter",
                                "bench --min-time -1",
                                "bench --min-time nan",
                                "bench --min-time inf",
                                "bench --min-time 3601",
                                "bench --min-time soon",
                                "kernel run k.metal --time-limit -1",
                                "kernel run k.metal --time-limit nan",
                                "kernel run k.metal --time-limit -nan",
                                "kernel run k.metal --time-limit inf",
                                "verify bench",
                                "verify --filter no_such_case",
                                "bench --filter no_such_case",
                                "demo --filter no_such_case",
                                "ops --filter no_such_operation",
                                "devices --filter no_such_device",
                                "--verbose verify",
                                "--device",
                                "--json nonsense",
                                "--device cpu graph show x",
                                "verify --reference x --large",
                                "verify --checked",
                                "verify --checked --kernels msl --device null"}) {
    const CommandResult result = run_norite(arguments);
    EXPECT_EQ(result.exit_code, 2) << arguments;
    EXPECT_EQ(result.out, "") << arguments;
    EXPECT_NE(result.err.find("norite: error: "), std::string::npos) << result.err;
  }
}

TEST(Usage, OptionsThatVerbsShareMayStandBeforeTheVerb) {
  for (const auto& [before, after] :
       {std::pair{"--json devices", "devices --json"},
        {"--device=cpu --threads 1 devices --json", "devices --device cpu --threads 1 --json"},
        {"--filter rms_norm --json --device cpu ops", "ops --filter rms_norm --json --device cpu"},
        {"--json kernel run --help", "kernel run --help"}}) {
    const CommandResult expected = run_norite(after);
    EXPECT_EQ(expected.exit_code, 0) << after;
    const CommandResult result = run_norite(before);
    EXPECT_EQ(result.exit_code, 0) << before << result.err;
    EXPECT_EQ(result.out, expected.out) << before;
  }
}

TEST(Usage, OptionsOfOneVerbFollowIt) {
  for (const char* arguments : {"--verbose verify", "--threads 4 kernel run k.metal --grid 4",
                                "--json --threads=4 kernel run k.metal --grid 4"}) {
    const CommandResult result = run_norite(arguments);
    EXPECT_EQ(result.exit_code, 2) << arguments;
    EXPECT_NE(result.err.find("follow their verb"), std::string::npos) << result.err;
  }
}

TEST(Usage, LimitsOfSecondsAreTold) {
  const CommandResult time = run_norite("bench --min-time nan");
  EXPECT_NE(time.err.find("--min-time: it is 'nan', expected seconds from 0 to 3600"),
            std::string::npos)
      << time.err;
  const CommandResult limit = run_norite("kernel run k.metal --time-limit nan");
  EXPECT_NE(limit.err.find("--time-limit: it is 'nan', expected seconds from 0 to 1000000"),
            std::string::npos)
      << limit.err;
}

TEST(Output, ThatCannotBeWrittenExitsWith70) {
#ifdef __linux__
  for (const char* arguments : {"devices", "ops --device cpu --json", "--help", "--version"}) {
    const CommandResult result =
        run_norite(arguments, R"(sh -c '"$0" "$@" >/dev/full')");  // norite is $0
    EXPECT_EQ(result.exit_code, 70) << arguments;
    EXPECT_NE(result.err.find("stdout cannot be written to"), std::string::npos) << result.err;
  }
#else
  GTEST_SKIP() << "no /dev/full here";
#endif
}

TEST(Devices, AreFilteredByIdAndName) {
  const json all = run_norite("devices --json").json()["devices"];
  for (const json& device : all) {
    for (const char* key : {"id", "name"}) {
      const std::string text = device[key];
      const json found = run_norite("devices --json --filter '" + text + "'").json()["devices"];
      EXPECT_NE(std::find(found.begin(), found.end(), device), found.end()) << found.dump();
    }
  }
  EXPECT_EQ(run_norite("devices --json --filter cpu").json()["devices"].size(), 1u);
}

TEST(Devices, MissingOnesExitWith3) {
  for (const char* arguments : {"verify --device no_such_device", "bench --device no_such_device",
                                "devices --device no_such_device", "ops --device no_such_device",
                                "demo --device null", "verify --device null"}) {
    const CommandResult result = run_norite(arguments);
    EXPECT_EQ(result.exit_code, 3) << arguments << "\n" << result.err;
    EXPECT_EQ(result.out, "") << arguments;
  }
  EXPECT_EQ(run_norite("verify", "NORITE_DEVICE=no_such_device").exit_code, 3);
}

TEST(Devices, AreListedAsJson) {
  const CommandResult result = run_norite("devices --json");
  ASSERT_EQ(result.exit_code, 0);
  const json document = result.json();
  ASSERT_TRUE(document.is_object()) << result.out;
  EXPECT_EQ(document["schema_version"], 1);
  ASSERT_GE(document["devices"].size(), 2u);
  for (const json& device : document["devices"]) {
    expect_keys(device, {"id", "backend", "name", "memory_bytes", "computes", "limits"});
  }
}

TEST(Threads, AreWhatWasAskedFor) {
  const json document = run_norite("devices --device cpu --threads 1 --json").json();
  ASSERT_TRUE(document.is_object());
  EXPECT_EQ(document["devices"][0]["threads"], 1);
}

TEST(Ops, SupportsEveryOperationOnTheCpu) {
  const json document = run_norite("ops --device cpu --json").json();
  ASSERT_TRUE(document.is_object());
  EXPECT_EQ(document["results"].size(), 24u * 3u);
  for (const json& result : document["results"]) {
    EXPECT_TRUE(result["supported"]) << result.dump();
    EXPECT_GT(result["cases"], 0) << result.dump();
  }
}

TEST(Ops, PrintsMarkdown) {
  const CommandResult result = run_norite("ops --device cpu --markdown");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_NE(result.out.find("| `rms_norm` | ✓ | ✓ | ✓ |"), std::string::npos) << result.out;
}

TEST(Verify, ReportsEveryCaseAsJson) {
  const CommandResult result = run_norite("verify --json --filter 'rms_norm_mul[f32'");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "");
  const json document = result.json();
  ASSERT_TRUE(document.is_object()) << result.out;
  EXPECT_EQ(document["schema_version"], 1);
  expect_keys(document, {"device", "passed", "failed", "skipped", "results"});
  EXPECT_GT(document["passed"], 10);
  EXPECT_EQ(document["failed"], 0);
  EXPECT_EQ(document["passed"], document["results"].size());
  for (const json& row : document["results"]) {
    expect_keys(row, {"case", "op", "dtype", "max_error", "tolerance", "status"});
    EXPECT_EQ(row["op"], "rms_norm_mul");
    EXPECT_EQ(row["dtype"], "f32");
    EXPECT_EQ(row["status"], "passed");
    EXPECT_LE(row["max_error"], row["tolerance"]);
  }
}

TEST(Verify, ExplainsTolerancesOf16Bits) {
  const std::string note = "most of a 16-bit tolerance is the final rounding";
  const auto notes = [&](const char* filter) {
    const std::string verify = "verify --device cpu --filter ";
    return run_norite(verify + filter).out.find(note) != std::string::npos;
  };
  EXPECT_TRUE(notes("'rms_norm_mul[bf16,rows=3'"));
  EXPECT_TRUE(notes("'rope[f32'"));  // some of them write a copy of 16 bits
  EXPECT_FALSE(notes("'rms_norm_mul[f32,rows=3'"));
}

TEST(Bench, ReportsSharesOfTheRoofAsJson) {
  const CommandResult result =
      run_norite("bench --json --min-time 0.001 --threads 1 --filter 'rms_norm_mul[f32,rows=64'");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  const json document = result.json();
  ASSERT_TRUE(document.is_object()) << result.out;
  EXPECT_EQ(document["schema_version"], 1);
  EXPECT_EQ(document["threads"], 1);
  EXPECT_GT(document["roof_gb_per_s"], 0);
  ASSERT_EQ(document["results"].size(), 1u);
  const json& row = document["results"][0];
  expect_keys(row, {"case", "op", "dtype", "shape", "time_us_p50", "gb_per_s", "share_of_roof"});
  EXPECT_EQ(row["shape"], json({64, 4096}));
  EXPECT_GT(row["time_us_p50"], 0);
  EXPECT_GT(row["share_of_roof"], 0);
}

TEST(Bench, SaysWhereItsResultComesFrom) {
  const CommandResult result = run_norite(
      "--json bench --device cpu --min-time 0 --filter 'rms_norm_mul[f32,rows=64,dim=4096]'");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json document = result.json();
  const std::string version = document["version"];
  EXPECT_TRUE(run_norite("--version").out.starts_with("norite " + version + "\n"));
  EXPECT_EQ(document["command"],
            "norite --json bench --device cpu --min-time 0 --filter "
            "'rms_norm_mul[f32,rows=64,dim=4096]'");
  std::tm date = {};
  const std::string text = document["date"];
  const char* end = strptime(text.c_str(), "%Y-%m-%dT%H:%M:%SZ", &date);
  ASSERT_NE(end, nullptr) << text;
  EXPECT_EQ(*end, '\0') << text;
  EXPECT_NEAR(std::difftime(timegm(&date), std::time(nullptr)), 0, 600) << text;
}

TEST(Bench, SaysWhatItsRoofCounts) {
  const CommandResult result =
      run_norite("bench --device cpu --min-time 0 --filter 'rms_norm_mul[f32,rows=64'");
  EXPECT_NE(result.out.find("GB/s (a copy counts both directions)\n"), std::string::npos)
      << result.out;
}

TEST(Demo, ChecksAndTimes) {
  const CommandResult result = run_norite("demo --json --filter compute_d[f32");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json document = result.json();
  ASSERT_EQ(document["results"].size(), 1u) << result.out;
  for (const json& row : document["results"]) {
    expect_keys(row, {"model", "time_us_p50", "gb_per_s", "share_of_roof", "max_error", "status"});
    EXPECT_EQ(row["status"], "passed");
  }
}

TEST(Streams, HaveNoEscapeCodesOutsideATerminal) {
  for (const char* arguments : {"devices", "ops", "verify --filter 'rope[f32'", "--nonsense"}) {
    const CommandResult result = run_norite(arguments, "TERM=xterm-256color");
    EXPECT_EQ(result.out.find(kEscape), std::string::npos) << arguments;
    EXPECT_EQ(result.err.find(kEscape), std::string::npos) << arguments;
  }
}

}  // namespace
}  // namespace norite
