// SPDX-License-Identifier: MIT
// A file is: magic, version (2 bytes), header length (2 bytes, 4 from version 2 on, little-endian),
// header (text, padded with spaces), data to the end.
#include "norite/npy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <new>
#include <random>
#include <string>

#include "io/byte_source.hpp"
#include "io/npy_header.hpp"

namespace norite {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kAlignment = 64;  // of the data, as NumPy writes it
/// Longest header that is read. Those of plain arrays have some hundred bytes.
constexpr uint64_t kMaxHeaderBytes = 65536;

/// The same error, with the place it comes from in front.
Error located(Error error, std::string_view place) {
  error.message = fmt::format("npy: {}{}", place, error.message);
  return error;
}

uint64_t little_endian(std::span<const std::byte> bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes.size(); ++i) value |= std::to_integer<uint64_t>(bytes[i]) << (8 * i);
  return value;
}

/// How many bytes the header's length takes.
Result<size_t> length_bytes(std::span<const std::byte> start) {
  const auto* magic = reinterpret_cast<const char*>(start.data());
  if (std::string_view(magic, kMagic.size()) != kMagic) {
    return fail(Code::bad_file, "this is no .npy file: it does not begin with \\x93NUMPY");
  }
  const int major = std::to_integer<int>(start[kMagic.size()]);
  const int minor = std::to_integer<int>(start[kMagic.size() + 1]);
  if (major < 1 || major > 3 || minor != 0) {
    return fail(Code::bad_file,
                fmt::format("format version {}.{}, expected 1.0, 2.0 or 3.0", major, minor));
  }
  return major == 1 ? 2 : 4;
}

// Reads from front to back; the header is checked before memory for the data is asked for.
class FileReader {
 public:
  explicit FileReader(io::ByteSource source) : source_(std::move(source)), rest_(source_.bytes) {}

  Result<NpyArray> array() try {
    NORITE_TRY_ASSIGN(const io::NpyHeader header, read_header());
    if (rest_ != static_cast<uint64_t>(header.data_bytes)) {
      return fail(Code::bad_file,
                  fmt::format("{} bytes of data, expected {} for {} {}", rest_, header.data_bytes,
                              name(header.dtype), to_string(header.shape)));
    }
    NpyArray result{header.dtype, header.shape, std::vector<std::byte>(rest_)};
    NORITE_TRY(fill(result.data));
    return result;
  } catch (const std::bad_alloc&) {
    return fail(Code::out_of_memory, fmt::format("no memory for {} bytes of data", rest_));
  }

 private:
  Result<io::NpyHeader> read_header() {
    std::array<std::byte, kMagic.size() + 2> start = {};
    NORITE_TRY(fill(start));
    NORITE_TRY_ASSIGN(const size_t size, length_bytes(start));
    std::array<std::byte, 4> prefix = {};
    NORITE_TRY(fill(std::span(prefix).first(size)));
    const uint64_t length = little_endian(prefix);
    if (length > kMaxHeaderBytes) {
      return fail(Code::bad_file, fmt::format("the header claims {} bytes, at most {} are read",
                                              length, kMaxHeaderBytes));
    }
    std::string text(length, '\0');
    NORITE_TRY(fill(std::as_writable_bytes(std::span(text))));
    return io::parse_npy_header(text);
  }

  Result<void> fill(std::span<std::byte> target) {
    if (target.size() > rest_ || !source_.read_exactly(target))
      return fail(Code::bad_file, "the file ends early");
    rest_ -= target.size();
    return {};
  }

  io::ByteSource source_;
  uint64_t rest_;  // bytes that are still unread
};

std::string file_start(const NpyArray& array) {
  std::string header = io::npy_header_text(array.dtype, array.shape);
  const size_t before = kMagic.size() + 2 + 2;
  const size_t unpadded = before + header.size() + 1;
  header.append((kAlignment - unpadded % kAlignment) % kAlignment, ' ');
  header += '\n';
  const std::array<char, 4> version_and_length = {1, 0, static_cast<char>(header.size() & 0xFFu),
                                                  static_cast<char>(header.size() >> 8)};
  return std::string(kMagic) + std::string(version_and_length.data(), 4) + header;
}

namespace fs = std::filesystem;

/// The file that is written to or replaced: where links lead, though there be none yet. What is no
/// file, as /dev/null or a pipe, is not replaced by one.
Result<fs::path> file_behind(fs::path path) {
  constexpr int kMostLinks = 40;  // as many as Linux follows
  std::error_code error;
  for (int i = 0; i < kMostLinks && fs::is_symlink(fs::symlink_status(path, error)); ++i) {
    path = path.parent_path() / fs::read_symlink(path, error);  // an absolute one by itself
  }
  const auto status = fs::symlink_status(path, error);
  if (!fs::exists(status) || fs::is_regular_file(status)) return path;
  return fail(Code::bad_file, "this is no regular file, and is left as it is");
}

/// As the file that it replaces: nobody else may read it, not even while it is written.
void set_rights(const fs::path& path, const fs::file_status& replaced, fs::perms more) {
  if (!fs::is_regular_file(replaced)) return;
  std::error_code error;
  fs::permissions(path, replaced.permissions() | more, error);
}

bool write_file(const fs::path& path, const NpyArray& array) {
  std::ofstream stream(path, std::ios::binary);
  stream << file_start(array);
  stream.write(reinterpret_cast<const char*>(array.data.data()),
               static_cast<std::streamsize>(array.data.size()));
  stream.close();
  return stream.good();
}

}  // namespace

Result<NpyArray> read_npy(const std::filesystem::path& path) {
  const auto read = [](io::ByteSource source) { return FileReader(std::move(source)).array(); };
  return io::open_file(path).and_then(read).map_error([&](Error reason) {
    return located(std::move(reason), fmt::format("\"{}\": ", path.string()));
  });
}

Result<NpyArray> parse_npy(std::span<const std::byte> bytes) {
  return FileReader(io::from_memory(bytes)).array().map_error([](Error reason) {
    return located(std::move(reason), "");
  });
}

Result<void> write_npy(const std::filesystem::path& path, const NpyArray& array) {
  const std::string place = fmt::format("\"{}\": ", path.string());
  const auto count = array.shape.valid() ? array.shape.count() : std::nullopt;
  const auto size = static_cast<int64_t>(array.data.size());
  if (!count || size % size_of(array.dtype) != 0 || size / size_of(array.dtype) != *count) {
    return tl::unexpected(
        located({Code::invalid_argument, fmt::format("{} bytes of data do not make {} {}", size,
                                                     name(array.dtype), to_string(array.shape))},
                place));
  }
  auto file = file_behind(path);
  if (!file) return tl::unexpected(located(std::move(file).error(), place));
  // Of its own for every writer; a reader sees the whole file or none.
  const fs::path partial = fmt::format("{}.{:08x}.partial", file->string(), std::random_device()());
  std::error_code error;
  const fs::file_status replaced = fs::status(*file, error);
  std::ofstream(partial).close();
  set_rights(partial, replaced, fs::perms::owner_write);
  const bool written = write_file(partial, array);
  if (written) {
    set_rights(partial, replaced, fs::perms::none);
    fs::rename(partial, *file, error);
  }
  if (written && !error) return {};
  const std::string why = error ? fmt::format(": {}", error.message()) : "";
  std::filesystem::remove(partial, error);
  return tl::unexpected(located({Code::bad_file, "the file cannot be written" + why}, place));
}

}  // namespace norite
