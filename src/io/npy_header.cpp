// SPDX-License-Identifier: MIT
#include "io/npy_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace norite::io {
namespace {

struct FileDType {
  std::string_view descr;
  DType dtype;
};

// The first row of a dtype is how it is written.
constexpr std::array kFileDTypes = {
    FileDType{"<f4", DType::f32}, FileDType{"<f2", DType::f16}, FileDType{"<i4", DType::i32},
    FileDType{"<u4", DType::u32}, FileDType{"<i2", DType::i16}, FileDType{"<u2", DType::u16},
    FileDType{"|i1", DType::i8},  FileDType{"|u1", DType::u8},  FileDType{"|b1", DType::u8}};

constexpr std::string_view kAccepted =
    "taken are little-endian float32, float16, int32, uint32, int16, uint16, int8, uint8 and bool";

/// A file's text in a message: short, and with nothing that steers a terminal.
std::string shown(std::string_view text) {
  constexpr size_t kShown = 40;
  std::string safe(text.substr(0, kShown));
  std::ranges::replace_if(safe, [](char c) { return c < ' ' || c > '~'; }, '?');
  return fmt::format("'{}'{}", safe, text.size() > kShown ? "..." : "");
}

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/// Reads the one form of dict that the format allows: three keys, in any order, each once. The
/// first thing that does not fit ends the parse.
class HeaderReader {
 public:
  explicit HeaderReader(std::string_view text) : text_(text) {}

  Result<NpyHeader> read() {
    NORITE_TRY(expect('{'));
    while (!take('}')) {
      NORITE_TRY_ASSIGN(const std::string_view key, quoted());
      NORITE_TRY(expect(':'));
      NORITE_TRY(read_value(key));
      if (take(',')) continue;
      NORITE_TRY(expect('}'));
      break;
    }
    skip_space();
    if (!text_.empty()) return malformed("the end");
    return finish();
  }

 private:
  Result<void> read_value(std::string_view key) {
    if (key == "descr") return read_once(key, dtype_, &HeaderReader::dtype);
    if (key == "fortran_order") return read_once(key, fortran_order_, &HeaderReader::boolean);
    if (key == "shape") return read_once(key, shape_, &HeaderReader::tuple);
    return fail(Code::bad_file, fmt::format("the header has the unknown key {}", shown(key)));
  }

  template <class T>
  Result<void> read_once(std::string_view key, std::optional<T>& target,
                         Result<T> (HeaderReader::*read_next)()) {
    if (target) return fail(Code::bad_file, fmt::format("the header has '{}' twice", key));
    NORITE_TRY_ASSIGN(target, (this->*read_next)());
    return {};
  }

  Result<DType> dtype() {
    skip_space();
    if (text_.starts_with('[')) {
      return fail(Code::bad_file, fmt::format("the array is of a structured dtype; {}", kAccepted));
    }
    NORITE_TRY_ASSIGN(const std::string_view descr, quoted());
    const auto found = std::ranges::find(kFileDTypes, descr, &FileDType::descr);
    if (found != kFileDTypes.end()) return found->dtype;
    return fail(Code::bad_file,
                fmt::format("the array is of dtype {}; {}", shown(descr), kAccepted));
  }

  Result<bool> boolean() {
    if (take("True")) return true;
    if (take("False")) return false;
    return malformed("True or False");
  }

  /// (), (3,), (3, 4) and (3, 4,); one extent alone needs its comma.
  Result<Shape> tuple() {
    NORITE_TRY(expect('('));
    Shape shape;
    bool comma = true;
    while (!take(')')) {
      if (!comma) return malformed("',' or ')'");
      NORITE_TRY_ASSIGN(const int64_t extent, integer());
      shape.push_back(extent);
      if (!shape.valid()) {
        return fail(Code::bad_file,
                    fmt::format("the shape has more than {} extents", Shape::kMaxRank));
      }
      comma = take(',');
    }
    if (shape.rank() == 1 && !comma) return malformed("a tuple");
    return shape;
  }

  Result<int64_t> integer() {
    skip_space();
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    if (error != std::errc() || value < 0) return malformed("an extent below 2^63");
    text_.remove_prefix(static_cast<size_t>(end - text_.data()));
    return value;
  }

  /// 'text' or "text", without escapes.
  Result<std::string_view> quoted() {
    skip_space();
    const char quote = text_.empty() ? '\0' : text_.front();
    const size_t end = text_.find(quote, 1);
    if ((quote != '\'' && quote != '"') || end == text_.npos) return malformed("a quoted string");
    const std::string_view inside = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    return inside;
  }

  void skip_space() {
    const auto end = std::ranges::find_if_not(text_, is_space);
    text_.remove_prefix(static_cast<size_t>(end - text_.begin()));
  }
  bool take(std::string_view token) {
    skip_space();
    if (!text_.starts_with(token)) return false;
    text_.remove_prefix(token.size());
    return true;
  }
  bool take(char token) { return take(std::string_view(&token, 1)); }
  Result<void> expect(char token) {
    if (take(token)) return {};
    return malformed(fmt::format("'{}'", token));
  }
  [[nodiscard]] tl::unexpected<Error> malformed(std::string_view expected) const {
    return fail(Code::bad_file, fmt::format("the header is malformed: {} where {} is expected",
                                            text_.empty() ? "its end" : shown(text_), expected));
  }

  Result<NpyHeader> finish() {
    if (!dtype_ || !fortran_order_ || !shape_) {
      return fail(Code::bad_file, "the header needs 'descr', 'fortran_order' and 'shape'");
    }
    if (*fortran_order_ && shape_->rank() > 1) {
      return fail(Code::bad_file,
                  fmt::format("the array {} is stored by columns (fortran_order); save it through "
                              "numpy.ascontiguousarray",
                              to_string(*shape_)));
    }
    NORITE_TRY_ASSIGN(const int64_t bytes, described_bytes());
    return NpyHeader{*dtype_, *shape_, bytes};
  }

  /// Every partial product must fit as well, so that a zero extent cannot hide an absurd one.
  [[nodiscard]] Result<int64_t> described_bytes() const {
    int64_t bytes = size_of(*dtype_);
    for (const int64_t extent : *shape_) {
      const int64_t factor = std::max<int64_t>(extent, 1);
      if (bytes > INT64_MAX / factor) {
        return fail(Code::bad_file,
                    fmt::format("the shape {} passes 2^63 bytes", to_string(*shape_)));
      }
      bytes *= factor;
    }
    return std::ranges::find(*shape_, 0) == shape_->end() ? bytes : 0;
  }

  std::string_view text_;  // what is still unread
  std::optional<DType> dtype_;
  std::optional<bool> fortran_order_;
  std::optional<Shape> shape_;
};

}  // namespace

Result<NpyHeader> parse_npy_header(std::string_view text) { return HeaderReader(text).read(); }

std::string npy_header_text(DType dtype, const Shape& shape) {
  const DType stored = dtype == DType::bf16 ? DType::u16 : dtype;
  const auto row = std::ranges::find(kFileDTypes, stored, &FileDType::dtype);
  std::string extents;
  for (const int64_t extent : shape) extents += fmt::format("{}, ", extent);
  if (shape.rank() > 1) extents.resize(extents.size() - 2);
  if (shape.rank() == 1) extents.pop_back();
  return fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", row->descr,
                     extents);
}

}  // namespace norite::io
