// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "graph/graph_support.hpp"

namespace norite {
namespace {

using test::expect_error;
using test::must;

class Description : public ::testing::Test {
 protected:
  Description() {
    const View x = buffers.fill({2, 8}), y = buffers.fill({2, 8}), z = buffers.fill({2, 8});
    graph = must(Graph::capture(buffers.device, [&](Encoder& e) -> Result<void> {
              NORITE_TRY(ops::silu(e, {.x = x, .y = y}));
              NORITE_TRY(ops::gelu(e, {.x = x, .y = z}));
              return ops::add(e, {.a = y, .b = z, .y = y});
            })).describe();
  }

  test::Buffers buffers{test::cpu_device(), DType::bf16};
  GraphDescription graph;
};

TEST_F(Description, NamesOperationsOperandsAndOrder) {
  EXPECT_EQ(graph.device, "cpu");
  ASSERT_EQ(graph.operations.size(), 3u);
  const auto& add = graph.operations[2];
  EXPECT_EQ(add.name, "add");
  EXPECT_EQ(add.kernel, "elementwise");
  EXPECT_EQ(add.after, (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(add.stage, 1);
  EXPECT_EQ(add.bytes, 3 * 2 * 8 * 2);
  ASSERT_EQ(add.reads.size(), 2u);
  EXPECT_EQ(add.reads[0].view, "bf16 [2, 8]");
  ASSERT_EQ(add.writes.size(), 1u);
  EXPECT_EQ(add.writes[0].buffer, add.reads[0].buffer);  // in place
  EXPECT_NE(add.writes[0].buffer, add.reads[1].buffer);
  EXPECT_TRUE(graph.operations[1].after.empty());
}

TEST_F(Description, DotHasBoxesArrowsAndRanks) {
  const std::string dot = to_dot(graph);
  for (const auto* part : {"digraph", "n0 [label=\"silu", "n0 -> n2;", "n1 -> n2;",
                           "{ rank=same; n0; n1; }", "bf16 [2, 8]"}) {
    EXPECT_NE(dot.find(part), std::string::npos) << part << " is missing in\n" << dot;
  }
  graph.operations[0].name = "a\"b\\c";
  EXPECT_NE(to_dot(graph).find(R"(a\"b\\c)"), std::string::npos);
}

TEST_F(Description, JsonComesBack) {
  const std::string text = to_json(graph);
  const GraphDescription back = must(graph_from_json(text));
  EXPECT_EQ(to_json(back), text);
  EXPECT_EQ(to_dot(back), to_dot(graph));
}

TEST_F(Description, BadJsonIsRefused) {
  expect_error(graph_from_json(""), Code::bad_file, {"graph"});
  expect_error(graph_from_json("[1, 2"), Code::bad_file, {"graph"});
  expect_error(graph_from_json("[]"), Code::bad_file, {"graph"});
  expect_error(graph_from_json(R"({"norite_graph": 2})"), Code::bad_file, {"version 2"});
  expect_error(graph_from_json(R"({"norite_graph": 1, "device": "cpu"})"), Code::bad_file,
               {"operations"});
  expect_error(graph_from_json(R"({"norite_graph": 1, "device": 3, "operations": []})"),
               Code::bad_file, {"string"});
  graph.operations[0].after = {2};
  expect_error(graph_from_json(to_json(graph)), Code::bad_file, {"operation 0", "after 2"});
  graph.operations[0].after = {-1};
  expect_error(graph_from_json(to_json(graph)), Code::bad_file, {"after -1"});
  graph.operations[0].after = {};
  graph.operations[0].stage = 5;
  expect_error(graph_from_json(to_json(graph)), Code::bad_file, {"operation 1", "stage 0"});
}

}  // namespace
}  // namespace norite
