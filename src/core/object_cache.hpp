// SPDX-License-Identifier: MIT
// Compiled kernels on disk, readable by their user alone.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "norite/error.hpp"

namespace norite::core {

/// 32 hexadecimal digits that stand for all that a compiled object depends on.
std::string object_key(std::string_view text, const std::vector<std::string>& flags,
                       std::string_view compiler);

class ObjectCache {
 public:
  /// The user's cache folder; where that cannot be used or trusted, a private temporary folder that
  /// lives as long as this object.
  static Result<ObjectCache> open();

  ObjectCache(ObjectCache&& other) noexcept;
  ObjectCache& operator=(ObjectCache&&) = delete;
  ~ObjectCache();

  using Build = std::function<Result<void>(const std::string& object_path)>;

  /// The path of the object for this key: the stored one where its bytes are what was written, else
  /// one that `build` makes now. Its name ends in `suffix`.
  [[nodiscard]] Result<std::filesystem::path> get(std::string_view key, std::string_view suffix,
                                                  const Build& build) const;
  /// The same for what objects are made with, which is not counted as one.
  [[nodiscard]] Result<std::filesystem::path> get_ingredient(std::string_view key,
                                                             std::string_view suffix,
                                                             const Build& build) const;

  /// How many objects were made; the others were there already.
  [[nodiscard]] int64_t built() const noexcept { return built_; }
  [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }

 private:
  ObjectCache(std::filesystem::path folder, bool temporary)
      : folder_(std::move(folder)), temporary_(temporary) {}

  std::filesystem::path folder_;
  bool temporary_;
  mutable std::atomic<int64_t> built_ = 0;
};

}  // namespace norite::core
