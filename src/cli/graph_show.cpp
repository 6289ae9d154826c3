// SPDX-License-Identifier: MIT
#include "cli/json_output.hpp"
#include "cli/table.hpp"
#include "cli/text.hpp"
#include "cli/text_file.hpp"
#include "cli/verbs.hpp"

#include <norite/graph_description.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace norite::cli {
namespace {

Result<GraphDescription> load(const std::string& path) {
  NORITE_TRY_ASSIGN(const std::string text, read_text(path));
  auto graph = graph_from_json(text);
  if (graph) return graph;
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  const bool is_another = !json.is_discarded() && !json.contains("norite_graph");
  return fail(graph.error().code, fmt::format("{}: {}", path,
                                              is_another ? "not a graph that Graph::json() wrote"
                                                         : graph.error().message));
}

std::string operands_text(const std::vector<GraphDescription::Operand>& operands) {
  std::vector<std::string> texts;
  for (const auto& one : operands) texts.push_back(fmt::format("#{} {}", one.buffer, one.view));
  return fmt::format("{}", fmt::join(texts, ", "));
}

void print_table(const GraphDescription& graph) {
  Table table({{"stage", Align::right},
               {"", Align::right},
               {"operation"},
               {"reads"},
               {"writes"},
               {"after"},
               {"bytes", Align::right}});
  for (size_t i = 0; i < graph.operations.size(); ++i) {
    const auto& one = graph.operations[i];
    table.add({fmt::format("{}", one.stage), fmt::format("{}", i), one.name,
               operands_text(one.reads), operands_text(one.writes),
               fmt::format("{}", fmt::join(one.after, ", ")), size_text(one.bytes)});
  }
  table.print();
}

}  // namespace

ExitCode graph_show(const Options& options) {
  const auto graph = load(options.file);
  if (!graph) return report(graph.error());
  if (options.table) {
    print_table(*graph);
  } else {
    fmt::print("{}", options.json ? to_json(*graph) : to_dot(*graph));
  }
  return ExitCode::ok;
}

}  // namespace norite::cli
