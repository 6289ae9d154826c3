// SPDX-License-Identifier: MIT
#include "io/safetensors_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace norite::io {
namespace {

using Json = nlohmann::json;

struct FileDType {
  std::string_view name;
  uint64_t bytes;
};

constexpr std::array kFileDTypes = {FileDType{"F64", 8},  FileDType{"F32", 4}, FileDType{"F16", 2},
                                    FileDType{"BF16", 2}, FileDType{"I64", 8}, FileDType{"I32", 4},
                                    FileDType{"I16", 2},  FileDType{"I8", 1},  FileDType{"U64", 8},
                                    FileDType{"U32", 4},  FileDType{"U16", 2}, FileDType{"U8", 1},
                                    FileDType{"BOOL", 1}};

const FileDType* find_dtype(std::string_view name) {
  const auto found = std::ranges::find(kFileDTypes, name, &FileDType::name);
  return found == kFileDTypes.end() ? nullptr : &*found;
}

// Bytes of such a tensor, or nothing past 2^63. Every partial product fits as well, so that a zero
// extent cannot hide an absurd one.
std::optional<uint64_t> described_bytes(const FileDType& dtype, std::span<const uint64_t> shape) {
  uint64_t bytes = dtype.bytes;
  for (const uint64_t extent : shape) {
    const uint64_t factor = std::max<uint64_t>(extent, 1);
    if (bytes > static_cast<uint64_t>(INT64_MAX) / factor) return std::nullopt;
    bytes *= factor;
  }
  return std::ranges::find(shape, 0U) == shape.end() ? bytes : 0;
}

// Receives the header token by token and keeps nothing but what the format allows: one object of
// tensors and metadata, at most three levels deep. The first token that does not fit ends the
// parse, so a deeply nested header costs nothing.
class HeaderReader final : public nlohmann::json_sax<Json> {
 public:
  SafetensorsHeader header;
  std::string reason;  // why the header was refused

  bool start_object(size_t) override {
    if (place_ == Place::start) return enter(Place::file);
    if (place_ != Place::file) return unexpected("an object");
    if (name_ == "__metadata__") return enter(Place::metadata);
    entry_ = {};
    return enter(Place::tensor);
  }

  bool key(string_t& text) override {
    if (place_ == Place::file) {
      name_ = std::move(text);
      const bool fresh = name_ == "__metadata__" ? !std::exchange(has_metadata_, true)
                                                 : !header.tensors.contains(name_);
      return fresh || refuse(fmt::format("the key {} appears twice", escaped(name_)));
    }
    field_ = std::move(text);
    return true;
  }

  bool end_object() override {
    if (place_ == Place::file) return enter(Place::finished);
    if (place_ == Place::tensor && !finish_tensor()) return false;
    return enter(Place::file);
  }

  bool start_array(size_t) override {
    if (place_ == Place::tensor && (field_ == "shape" || field_ == "data_offsets")) {
      auto& numbers = field_ == "shape" ? entry_.shape : entry_.offsets;
      if (numbers) return repeated();
      numbers.emplace();
      numbers_ = &*numbers;
      return enter(Place::numbers);
    }
    return unexpected("an array");
  }

  bool end_array() override { return enter(Place::tensor); }

  bool number_unsigned(number_unsigned_t value) override {
    if (place_ != Place::numbers) return unexpected("a number");
    if (numbers_->size() == Shape::kMaxRank) {
      return refuse(fmt::format("{}.{} has more than {} entries", escaped(name_), escaped(field_),
                                Shape::kMaxRank));
    }
    numbers_->push_back(value);
    return true;
  }

  bool string(string_t& text) override {
    if (place_ == Place::metadata) {
      return header.metadata.emplace(field_, std::move(text)).second || repeated();
    }
    if (place_ != Place::tensor || field_ != "dtype") return unexpected("a string");
    if (entry_.dtype != nullptr) return repeated();
    entry_.dtype = find_dtype(text);
    return entry_.dtype != nullptr ||
           refuse(fmt::format("tensor {} has the unknown dtype {}", escaped(name_), escaped(text)));
  }

  bool null() override { return unexpected("null"); }
  bool boolean(bool) override { return unexpected("a boolean"); }
  bool number_integer(number_integer_t) override { return unexpected("a negative number"); }
  bool number_float(number_float_t, const string_t&) override {
    return unexpected("a number that is no 64-bit integer");
  }
  bool binary(binary_t&) override { return unexpected("binary data"); }

  bool parse_error(size_t position, const std::string&, const Json::exception&) override {
    return refuse(fmt::format("the header is not valid JSON at its byte {}", position));
  }

 private:
  enum class Place { start, file, metadata, tensor, numbers, finished };

  struct PartialEntry {
    const FileDType* dtype = nullptr;
    std::optional<std::vector<uint64_t>> shape;
    std::optional<std::vector<uint64_t>> offsets;
  };

  bool enter(Place place) {
    place_ = place;
    return true;
  }
  bool refuse(std::string why) {
    reason = std::move(why);
    return false;
  }
  bool repeated() {
    return refuse(fmt::format("the key {} appears twice in {}", escaped(field_), escaped(name_)));
  }
  bool unexpected(std::string_view what) {
    if (place_ == Place::file) {
      return refuse(fmt::format("{} is {}, expected an object", escaped(name_), what));
    }
    return refuse(fmt::format("{}.{} holds {}, which the format does not allow there",
                              escaped(name_), escaped(field_), what));
  }

  bool finish_tensor() {
    if (entry_.dtype == nullptr || !entry_.shape || !entry_.offsets) {
      return refuse(fmt::format("tensor {} needs dtype, shape and data_offsets", escaped(name_)));
    }
    if (entry_.offsets->size() != 2) {
      return refuse(fmt::format("tensor {} has {} data_offsets, expected 2", escaped(name_),
                                entry_.offsets->size()));
    }
    const uint64_t begin = entry_.offsets->front();
    const uint64_t end = entry_.offsets->back();
    const auto bytes = described_bytes(*entry_.dtype, *entry_.shape);
    if (!bytes) {
      return refuse(fmt::format("tensor {}: the shape [{}] of {} passes 2^63 bytes", escaped(name_),
                                fmt::join(*entry_.shape, ", "), entry_.dtype->name));
    }
    if (begin > end || end - begin != *bytes) {
      return refuse(fmt::format(
          "tensor {}: data_offsets [{}, {}] do not span the {} bytes of {} [{}]", escaped(name_),
          begin, end, *bytes, entry_.dtype->name, fmt::join(*entry_.shape, ", ")));
    }
    Shape shape;
    for (const uint64_t extent : *entry_.shape) shape.push_back(static_cast<int64_t>(extent));
    header.tensors.emplace(std::move(name_), TensorEntry{entry_.dtype->name, shape, begin, end});
    return true;
  }

  Place place_ = Place::start;
  std::string name_;   // key of the file's object
  std::string field_;  // key inside it
  bool has_metadata_ = false;
  PartialEntry entry_;
  std::vector<uint64_t>* numbers_ = nullptr;
};

// The reason why the tensors do not tile [0, data_bytes), or nothing.
std::optional<std::string> find_gap(const SafetensorsHeader& header, uint64_t data_bytes) {
  using Row = std::pair<const std::string, TensorEntry>;
  std::vector<const Row*> rows;
  rows.reserve(header.tensors.size());
  for (const Row& row : header.tensors) rows.push_back(&row);
  std::ranges::sort(rows, {},
                    [](const Row* row) { return std::pair(row->second.begin, row->second.end); });

  uint64_t covered = 0;
  for (const Row* row : rows) {
    const auto& [name, entry] = *row;
    if (entry.end > data_bytes) {
      return fmt::format("tensor {} ends at byte {} of {} bytes of data", escaped(name), entry.end,
                         data_bytes);
    }
    if (entry.begin != covered) {
      return fmt::format("tensor {} begins at byte {}, expected {}: tensors {}", escaped(name),
                         entry.begin, covered, entry.begin < covered ? "overlap" : "leave a gap");
    }
    covered = entry.end;
  }
  if (covered == data_bytes) return std::nullopt;
  return fmt::format("{} bytes of data belong to no tensor", data_bytes - covered);
}

}  // namespace

Result<SafetensorsHeader> parse_safetensors_header(std::string_view text, uint64_t data_bytes) {
  // The JSON lexer would skip a byte order mark and white space, and stop early at a zero byte.
  if (!text.starts_with('{')) return fail(Code::bad_file, "the header does not begin with '{'");
  if (text.find('\0') != text.npos) return fail(Code::bad_file, "the header holds a zero byte");

  HeaderReader reader;
  if (!Json::sax_parse(text, &reader)) return fail(Code::bad_file, std::move(reader.reason));
  if (auto gap = find_gap(reader.header, data_bytes)) return fail(Code::bad_file, *std::move(gap));
  return std::move(reader.header);
}

std::string escaped(std::string_view name) {
  constexpr size_t kShown = 80;
  return Json(std::string(name.substr(0, kShown)))
             .dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace) +
         (name.size() > kShown ? "..." : "");
}

}  // namespace norite::io
