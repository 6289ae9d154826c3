// SPDX-License-Identifier: MIT
#pragma once

#include "cli/terminal.hpp"

#include <string>
#include <vector>

namespace norite::cli {

enum class Align : unsigned char { left, right };

struct Column {
  std::string header;
  Align align = Align::left;
};

struct Cell {
  Cell(std::string cell_text, Tone cell_tone = Tone::plain)  // NOLINT: texts are cells
      : text(std::move(cell_text)), tone(cell_tone) {}
  std::string text;
  Tone tone;
};

/// The text of a cell that has nothing to say.
inline constexpr std::string_view kNothing = "–";

/// Rows printed to stdout in aligned columns, with a rule under the header.
class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  void add(std::vector<Cell> row) { rows_.push_back(std::move(row)); }
  /// A line of its own above the rows that follow.
  void heading(std::string text) { rows_.push_back({Cell(std::move(text), Tone::strong)}); }
  /// Leaves out columns that say nothing in any row.
  void drop_columns_of_nothing();
  void print() const;
  /// The same as a Markdown table.
  void print_markdown() const;

 private:
  [[nodiscard]] bool is_heading(const std::vector<Cell>& row) const;
  [[nodiscard]] std::vector<size_t> widths() const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace norite::cli
