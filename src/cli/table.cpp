// SPDX-License-Identifier: MIT
#include "cli/table.hpp"

#include "cli/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace norite::cli {
namespace {

constexpr std::string_view kIndent = "  ";  // once more for rows below headings
constexpr std::string_view kGap = "  ";

/// Columns on the screen: UTF-8 continuation bytes take none.
size_t display_width(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0u) != 0x80u;
  }));
}

/// Spaces to the left or right of the text; none after the last column.
std::string padded(const Cell& cell, size_t width, Align align, bool last) {
  const std::string space(width - std::min(width, display_width(cell.text)), ' ');
  const std::string text = paint(printable(cell.text), cell.tone);
  if (align == Align::right) return space + text;
  return last ? text : text + space;
}

}  // namespace

bool Table::is_heading(const std::vector<Cell>& row) const {
  return row.size() == 1 && columns_.size() > 1;
}

std::vector<size_t> Table::widths() const {
  std::vector<size_t> widths;
  for (const Column& column : columns_) widths.push_back(display_width(column.header));
  for (const auto& row : rows_) {
    if (is_heading(row)) continue;
    for (size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], display_width(row[i].text));
    }
  }
  return widths;
}

void Table::drop_columns_of_nothing() {
  for (size_t i = columns_.size(); i-- > 0;) {
    const bool says_nothing = std::ranges::all_of(
        rows_, [&](const auto& row) { return is_heading(row) || row[i].text == kNothing; });
    if (!says_nothing) continue;
    const auto at = static_cast<std::ptrdiff_t>(i);
    for (auto& row : rows_) {
      if (!is_heading(row)) row.erase(row.begin() + at);
    }
    columns_.erase(columns_.begin() + at);
  }
}

void Table::print() const {
  const std::vector<size_t> width = widths();
  const bool sectioned =
      std::any_of(rows_.begin(), rows_.end(), [&](const auto& row) { return is_heading(row); });
  const auto print_row = [&](auto cell_at) {
    std::string line(kIndent);
    if (sectioned) line += kIndent;
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (i > 0) line += kGap;
      line += padded(cell_at(i), width[i], columns_[i].align, i + 1 == columns_.size());
    }
    fmt::print("{}\n", line);
  };
  print_row([&](size_t i) { return Cell(columns_[i].header, Tone::strong); });
  print_row([&](size_t i) {
    std::string rule;
    for (size_t n = 0; n < width[i]; ++n) rule += "─";
    return Cell(rule, Tone::faint);
  });
  for (const auto& row : rows_) {
    if (is_heading(row)) {
      fmt::print("{}{}\n", kIndent, paint(printable(row.front().text), row.front().tone));
      continue;
    }
    print_row([&](size_t i) { return row[i]; });
  }
}

void Table::print_markdown() const {
  std::string header = "|", rule = "|";
  for (const Column& column : columns_) {
    header += fmt::format(" {} |", column.header);
    rule += column.align == Align::right ? "--:|" : "---|";
  }
  fmt::print("{}\n{}\n", header, rule);
  for (const auto& row : rows_) {
    std::string line = "|";
    for (const Cell& cell : row) line += fmt::format(" {} |", cell.text);
    fmt::print("{}\n", line);
  }
}

}  // namespace norite::cli
