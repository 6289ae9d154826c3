// SPDX-License-Identifier: MIT
#include "io/byte_source.hpp"

#include <algorithm>
#include <fstream>
#include <memory>

namespace norite::io {

Result<ByteSource> open_file(const std::filesystem::path& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) return fail(Code::not_found, "no such file");
  if (!std::filesystem::is_regular_file(status)) {
    return fail(Code::bad_file, "not a regular file");
  }
  const uint64_t bytes = std::filesystem::file_size(path, error);
  auto stream = std::make_shared<std::ifstream>(path, std::ios::binary);
  if (error || !*stream) return fail(Code::bad_file, "the file cannot be read");
  return ByteSource{bytes, [stream](std::span<std::byte> target) {
                      const auto count = static_cast<std::streamsize>(target.size());
                      stream->read(reinterpret_cast<char*>(target.data()), count);
                      return stream->gcount() == count;
                    }};
}

ByteSource from_memory(std::span<const std::byte> bytes) {
  return {bytes.size(), [rest = bytes](std::span<std::byte> target) mutable {
            if (target.size() > rest.size()) return false;
            std::ranges::copy(rest.first(target.size()), target.begin());
            rest = rest.subspan(target.size());
            return true;
          }};
}

}  // namespace norite::io
