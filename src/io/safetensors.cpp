// SPDX-License-Identifier: MIT
// A file is: header length (8 bytes, little-endian), header (JSON), tensor data to the end.
#include "norite/safetensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <new>

#include "io/byte_source.hpp"
#include "io/safetensors_header.hpp"

namespace norite {
namespace {

constexpr uint64_t kLengthBytes = 8;

Result<uint64_t> header_length(std::span<const std::byte, kLengthBytes> prefix,
                               uint64_t file_bytes) {
  uint64_t length = 0;
  for (size_t i = 0; i < prefix.size(); ++i) {
    length |= std::to_integer<uint64_t>(prefix[i]) << (8 * i);
  }
  if (length > SafetensorsFile::kMaxHeaderBytes) {
    return fail(Code::bad_file, fmt::format("the header claims {} bytes, at most {} are read",
                                            length, SafetensorsFile::kMaxHeaderBytes));
  }
  if (length > file_bytes - kLengthBytes) {
    return fail(Code::bad_file,
                fmt::format("the header claims {} bytes, the file has {}", length, file_bytes));
  }
  return length;
}

/// The same error, with the place it comes from in front.
Error located(Error error, std::string_view place) {
  error.message = fmt::format("safetensors: {}{}", place, error.message);
  return error;
}

}  // namespace

struct SafetensorsFile::Contents {
  io::SafetensorsHeader header;
  std::unique_ptr<std::byte[]> data;

  // The header is checked before memory for the data is asked for.
  static Result<SafetensorsFile> read(const io::ByteSource& source) try {
    const uint64_t file_bytes = source.bytes;
    const auto truncated = [&] {
      return fail(Code::bad_file, fmt::format("the file ends early, after {} bytes", file_bytes));
    };
    std::array<std::byte, kLengthBytes> prefix = {};
    if (file_bytes < kLengthBytes || !source.read_exactly(prefix)) return truncated();
    NORITE_TRY_ASSIGN(const uint64_t length, header_length(prefix, file_bytes));
    std::string text(length, '\0');
    if (!source.read_exactly(std::as_writable_bytes(std::span(text)))) return truncated();

    const uint64_t data_bytes = file_bytes - kLengthBytes - length;
    NORITE_TRY_ASSIGN(auto header, io::parse_safetensors_header(text, data_bytes));
    auto data = std::make_unique_for_overwrite<std::byte[]>(data_bytes);
    if (!source.read_exactly({data.get(), data_bytes})) return truncated();
    return SafetensorsFile(
        std::make_shared<const Contents>(Contents{std::move(header), std::move(data)}));
  } catch (const std::bad_alloc&) {
    return fail(Code::out_of_memory, fmt::format("no memory for a file of {} bytes", source.bytes));
  }
};

Result<SafetensorsFile> SafetensorsFile::open(const std::filesystem::path& path) {
  return io::open_file(path).and_then(Contents::read).map_error([&](Error reason) {
    return located(std::move(reason), fmt::format("\"{}\": ", path.string()));
  });
}

Result<SafetensorsFile> SafetensorsFile::parse(std::span<const std::byte> bytes) {
  return Contents::read(io::from_memory(bytes)).map_error([](Error reason) {
    return located(std::move(reason), "");
  });
}

const std::map<std::string, std::string>& SafetensorsFile::metadata() const noexcept {
  return contents_->header.metadata;
}

std::vector<std::string> SafetensorsFile::names() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : contents_->header.tensors) names.push_back(name);
  return names;
}

Result<SafetensorsTensor> SafetensorsFile::find(std::string_view name) const {
  const auto found = contents_->header.tensors.find(name);
  if (found == contents_->header.tensors.end()) {
    return fail(Code::not_found, fmt::format("safetensors: no tensor {}", io::escaped(name)));
  }
  const io::TensorEntry& entry = found->second;
  return SafetensorsTensor{
      entry.dtype, entry.shape, {contents_->data.get() + entry.begin, entry.end - entry.begin}};
}

}  // namespace norite
