// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "norite/graph.hpp"

namespace norite {

namespace {

using Json = nlohmann::ordered_json;
using Operation = GraphDescription::Operation;
using Operand = GraphDescription::Operand;

/// Text inside of a Graphviz string.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') result += '\\';
    result += letter == '\n' ? ' ' : letter;
  }
  return result;
}

Json to_json(const std::vector<Operand>& operands) {
  Json result = Json::array();
  for (const Operand& operand : operands) {
    result.push_back({{"name", operand.name}, {"view", operand.view}, {"buffer", operand.buffer}});
  }
  return result;
}

std::vector<Operand> operands_from(const Json& json) {
  std::vector<Operand> result;
  for (const Json& operand : json) {
    result.push_back({.name = operand.at("name").get<std::string>(),
                      .view = operand.at("view").get<std::string>(),
                      .buffer = operand.at("buffer").get<int64_t>()});
  }
  return result;
}

Operation operation_from(const Json& json) {
  return {.name = json.at("name").get<std::string>(),
          .kernel = json.at("kernel").get<std::string>(),
          .reads = operands_from(json.at("reads")),
          .writes = operands_from(json.at("writes")),
          .after = json.at("after").get<std::vector<int64_t>>(),
          .stage = json.at("stage").get<int64_t>(),
          .bytes = json.at("bytes").get<int64_t>()};
}

/// Operations wait for earlier ones alone, in stages that do not go back.
Result<void> check_order(const std::vector<Operation>& operations) {
  int64_t stage = 0;
  for (size_t i = 0; i < operations.size(); ++i) {
    const Operation& operation = operations[i];
    for (const int64_t before : operation.after) {
      if (before < 0 || before >= static_cast<int64_t>(i)) {
        return fail(Code::bad_file, fmt::format("graph: operation {} comes after {}, expected an "
                                                "earlier one",
                                                i, before));
      }
    }
    if (operation.stage < stage) {
      return fail(Code::bad_file, fmt::format("graph: operation {} is in stage {}, expected {} or "
                                              "later",
                                              i, operation.stage, stage));
    }
    stage = operation.stage;
  }
  return {};
}

}  // namespace

std::string to_dot(const GraphDescription& graph) {
  std::string text =
      "digraph norite {\n  rankdir=TB;\n  node [shape=box, fontname=\"monospace\"];\n";
  for (size_t i = 0; i < graph.operations.size(); ++i) {
    const Operation& operation = graph.operations[i];
    std::string label = escaped(operation.name);
    for (const Operand& write : operation.writes) {
      label +=
          fmt::format("\\n{} = {} #{}", escaped(write.name), escaped(write.view), write.buffer);
    }
    text += fmt::format("  n{} [label=\"{}\"];\n", i, label);
  }
  for (size_t i = 0; i < graph.operations.size(); ++i) {
    for (const int64_t before : graph.operations[i].after) {
      text += fmt::format("  n{} -> n{};\n", before, i);
    }
  }
  for (size_t begin = 0, end = 0; begin < graph.operations.size(); begin = end) {
    std::string stage;
    const int64_t number = graph.operations[begin].stage;
    for (; end < graph.operations.size() && graph.operations[end].stage == number; ++end) {
      stage += fmt::format(" n{};", end);
    }
    if (end - begin > 1) text += fmt::format("  {{ rank=same;{} }}\n", stage);
  }
  return text + "}\n";
}

std::string to_json(const GraphDescription& graph) {
  Json operations = Json::array();
  for (const Operation& operation : graph.operations) {
    operations.push_back({{"name", operation.name},
                          {"kernel", operation.kernel},
                          {"stage", operation.stage},
                          {"bytes", operation.bytes},
                          {"reads", to_json(operation.reads)},
                          {"writes", to_json(operation.writes)},
                          {"after", operation.after}});
  }
  const Json json = {{"norite_graph", 1}, {"device", graph.device}, {"operations", operations}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<GraphDescription> graph_from_json(std::string_view text) {
  GraphDescription graph;
  try {
    const Json json = Json::parse(text);
    const auto version = json.at("norite_graph").get<int64_t>();
    if (version != 1) {
      return fail(Code::bad_file, fmt::format("graph: version {}, expected 1", version));
    }
    graph.device = json.at("device").get<std::string>();
    for (const Json& operation : json.at("operations")) {
      graph.operations.push_back(operation_from(operation));
    }
  } catch (const nlohmann::json::exception& error) {
    return fail(Code::bad_file, fmt::format("graph: {}", error.what()));
  }
  NORITE_TRY(check_order(graph.operations));
  return graph;
}

std::string to_string(const GraphReport& report) {
  std::string text =
      fmt::format("operations {} -> {}, barriers {} -> {}, bytes {} -> {}, moved {}\n",
                  report.operations_before, report.operations_after, report.barriers_before,
                  report.barriers_after, report.bytes_before, report.bytes_after, report.moved);
  for (const auto& fusion : report.fused) {
    text += fmt::format("fused {} into {}{}\n", fmt::join(fusion.operations, ", "), fusion.result,
                        fusion.changes_bits ? " (fewer roundings: other bits)" : "");
  }
  for (const std::string& removed : report.removed) {
    text += fmt::format("removed {}: nobody reads its result\n", removed);
  }
  for (const auto& declined : report.declined) {
    text += fmt::format("left {}, {}: {}\n", declined.producer, declined.consumer, declined.reason);
  }
  if (report.arena_bytes > 0) {
    text += fmt::format("intermediates of {} bytes in an arena of {}\n", report.intermediate_bytes,
                        report.arena_bytes);
  }
  if (!report.arena_error.empty()) text += fmt::format("no arena: {}\n", report.arena_error);
  return text;
}

}  // namespace norite
