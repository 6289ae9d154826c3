// SPDX-License-Identifier: MIT
// `norite graph show`, and graphs in `norite bench`.
#include <gtest/gtest.h>

#include <limits>

#include "command.hpp"

#include "cases/gemma_block.hpp"
#include "cli/bench_graph.hpp"
#include "support.hpp"

namespace norite {
namespace {

using test::must;
using test::run_norite;
using test::TemporaryFile;

struct CapturedBlock {
  Device device = test::cpu_device();
  cases::GemmaBlock block = must(cases::GemmaBlock::make(device, DType::bf16));
  Graph graph = must(Graph::capture(device, [this](Encoder& e) { return block.record(e); }));
};

TEST(GraphShow, PrintsGraphvizTextATableAndJson) {
  const CapturedBlock captured;
  const Graph& graph = captured.graph;
  const TemporaryFile file("block.json", graph.json());
  const auto dot = run_norite("graph show " + file.path());
  EXPECT_EQ(dot.exit_code, 0) << dot.err;
  EXPECT_EQ(dot.out, graph.dot());
  EXPECT_EQ(run_norite("graph show --json " + file.path()).out, graph.json());
  const auto table = run_norite("graph show --table " + file.path());
  EXPECT_EQ(table.exit_code, 0);
  for (const char* text : {"stage", "rms_norm", "softcap", "bf16 [1, 2304]"}) {
    EXPECT_NE(table.out.find(text), std::string::npos) << text;
  }
}

TEST(GraphShow, PrintsSizesInThreeDigits) {
  constexpr int64_t kKi = 1024;
  for (const auto& [bytes, text] : {std::pair<int64_t, const char*>{0, " 0 B"},
                                    {1, " 1 B"},
                                    {1023, " 1023 B"},
                                    {1024, " 1 KiB"},
                                    {999 * kKi, " 999 KiB"},
                                    {1000 * kKi, " 0.977 MiB"},
                                    {1023 * kKi, " 0.999 MiB"},
                                    {1000 * kKi - 500, " 0.976 MiB"},
                                    {kKi * kKi, " 1 MiB"},
                                    {999 * kKi * kKi, " 999 MiB"},
                                    {1000 * kKi * kKi, " 0.977 GiB"},
                                    {999 * kKi * kKi * kKi, " 999 GiB"},
                                    {1000 * kKi * kKi * kKi, " 0.977 TiB"},
                                    {std::numeric_limits<int64_t>::max(), " 8 EiB"}}) {
    GraphDescription graph;
    graph.operations.resize(1);
    graph.operations[0].bytes = bytes;
    const TemporaryFile file("sizes.json", to_json(graph));
    const auto table = run_norite("graph show --table " + file.path());
    EXPECT_TRUE(table.out.ends_with(std::string(text) + "\n")) << bytes << table.out << table.err;
  }
}

TEST(GraphShow, TellsBadFiles) {
  const TemporaryFile file("bad.json", "{\"norite_graph\": 1}");
  const auto bad = run_norite("graph show " + file.path());
  EXPECT_EQ(bad.exit_code, 4);
  EXPECT_NE(bad.err.find("bad.json"), std::string::npos) << bad.err;
  EXPECT_EQ(bad.out, "");
  for (const char* text : {"{}", "[]", "7"}) {
    const TemporaryFile other("other.json", text);
    const auto result = run_norite("graph show " + other.path());
    EXPECT_EQ(result.exit_code, 4) << text;
    EXPECT_NE(result.err.find("other.json: not a graph that Graph::json() wrote\n"),
              std::string::npos)
        << result.err;
  }
  EXPECT_NE(run_norite("graph show no_such_file.json").exit_code, 0);
  EXPECT_EQ(run_norite("graph show").exit_code, 2);
}

TEST(GraphBench, MeasuresEagerReplayedAndOptimised) {
  const auto result =
      run_norite("bench --device cpu --filter gemma_block,batch=1 --min-time 0 --json");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto graphs = result.json().at("graphs");
  ASSERT_EQ(graphs.size(), 3u);
  EXPECT_EQ(graphs[1].at("operations"), cases::GemmaBlock::kOperations);
  EXPECT_LT(graphs[2].at("operations"), graphs[1].at("operations"));
  EXPECT_LT(graphs[2].at("bytes"), graphs[1].at("bytes"));
  EXPECT_GT(graphs[0].at("time_us_p50"), 0.0);
  EXPECT_GT(graphs[2].at("speedup"), 0.0);
  const double before = graphs[0].at("bytes"), after = graphs[2].at("bytes");
  EXPECT_DOUBLE_EQ(graphs[2].at("speedup_promised_by_bytes"), before / after);
  for (const int i : {0, 1}) {
    const auto& overhead = graphs[i].at("overhead_us_per_operation");
    const bool beyond = graphs[i].at("time_us_p50") >= graphs[i].at("kernels_us");
    EXPECT_EQ(overhead.is_number(), beyond) << graphs[i].dump();
    EXPECT_EQ(overhead.is_null(), !beyond) << graphs[i].dump();
  }
}

TEST(GraphShow, HelpIsPrintedWithoutAVerb) {
  for (const char* group : {"graph", "kernel"}) {
    const auto result = run_norite(group);
    EXPECT_EQ(result.exit_code, 0) << group;
    EXPECT_EQ(result.err, "") << group;
    EXPECT_NE(result.out.find("Usage: norite " + std::string(group)), std::string::npos)
        << result.out;
  }
}

TEST(GraphBench, PrintsSizesAndOnlyColumnsThatSaySomething) {
  const auto block = run_norite("bench --device cpu --filter gemma_block,batch=1 --min-time 0");
  ASSERT_EQ(block.exit_code, 0) << block.err;
  for (const char* text : {" 466 KiB ", "speedup (by bytes)", " (1.36)"}) {
    EXPECT_NE(block.out.find(text), std::string::npos) << text << block.out;
  }
  EXPECT_EQ(block.out.find("a launch"), std::string::npos) << block.out;
  const auto decode =
      run_norite("bench --device cpu --filter bf16,decode,rms_norm,rows=8 --min-time 0");
  ASSERT_EQ(decode.exit_code, 0) << decode.err;
  for (const char* text : {" 8.5 MiB ", "a launch"}) {
    EXPECT_NE(decode.out.find(text), std::string::npos) << text << decode.out;
  }
  for (const char* text : {"speedup", "beyond kernels", "–"}) {
    EXPECT_EQ(decode.out.find(text), std::string::npos) << text << decode.out;
  }
}

// Kernels are timed one by one; together they may take less.
TEST(GraphBench, LeavesOutWhatIsNotBeyondTheKernels) {
  cli::GraphMeasurement measured{.name = "", .operations = 4, .time_us_p50 = 26, .kernels_us = 10};
  EXPECT_EQ(measured.overhead_us(), 4.0);
  measured.time_us_p50 = 9;
  EXPECT_EQ(measured.overhead_us(), std::nullopt);
  measured.kernels_us = 0;
  EXPECT_EQ(measured.overhead_us(), std::nullopt);
}

TEST(GraphBench, MeasuresNormsOfADecoder) {
  const auto result = run_norite("bench --device cpu --filter decode --min-time 0 --json");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto graphs = result.json().at("graphs");
  ASSERT_EQ(graphs.size(), 15u);
  EXPECT_EQ(graphs[0].at("graph"), "graph[bf16,decode,rms_norm,rows=1,dim=2048]");
  EXPECT_EQ(graphs[0].at("operations"), 64);
  EXPECT_EQ(graphs[0].at("bytes"), 64 * 3 * 2048 * 2);
  for (const auto& graph : graphs) EXPECT_GT(graph.at("us_per_launch"), 0.0);
  EXPECT_EQ(run_norite("bench --device cpu --filter decode,rms_norm,rows=8 --min-time 0 --json")
                .json()
                .at("graphs")
                .size(),
            3u);
}

TEST(GemmaBlock, IsFusedWhereItCanBe) {
  CapturedBlock captured;
  const GraphReport report = must(captured.graph.optimise());
  EXPECT_EQ(report.operations_before, cases::GemmaBlock::kOperations);
  // Of each layer: two ropes, the sum before the FFN, the gate, the sum after it.
  EXPECT_EQ(report.fused.size(), 10u) << to_string(report);
}

}  // namespace
}  // namespace norite
