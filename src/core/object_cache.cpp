// SPDX-License-Identifier: MIT
#include "core/object_cache.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL  // nothing to link
#include <xxhash.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <utility>

#include "core/env.hpp"

namespace norite::core {

namespace fs = std::filesystem;

namespace {

// Goes up when backends and compiled objects change what they agree on.
constexpr int kAbiVersion = 1;
// Names of folders that do not stay, and of what is made in them.
constexpr std::string_view kTemporaryCache = "norite-", kWorkshop = "norite-workshop-",
                           kRandomPart = "XXXXXX", kMade = "kernel";

class Hash {
 public:
  Hash() { XXH3_128bits_reset(state_.get()); }
  // With its length, so that moving a byte from one part to the next gives another hash.
  void add(std::string_view part) {
    const uint64_t bytes = part.size();
    XXH3_128bits_update(state_.get(), &bytes, sizeof bytes);
    XXH3_128bits_update(state_.get(), part.data(), part.size());
  }
  [[nodiscard]] std::string text() const {
    const XXH128_hash_t hash = XXH3_128bits_digest(state_.get());
    return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
  }

 private:
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  std::unique_ptr<XXH3_state_t, Free> state_{XXH3_createState()};
};

std::optional<std::string> contents(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return std::nullopt;  // a pipe would be waited for
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return std::nullopt;
  std::string bytes(static_cast<size_t>(std::max<std::streamoff>(file.tellg(), 0)), '\0');
  file.seekg(0);
  if (!file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()))) return std::nullopt;
  return bytes;
}

std::optional<std::string> hash_of_file(const fs::path& path) {
  const auto bytes = contents(path);
  if (!bytes) return std::nullopt;
  Hash hash;
  hash.add(*bytes);
  return hash.text();
}

// Code is loaded from here: nobody else may have put it there.
bool is_private_folder(const fs::path& path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
         status.st_uid == ::geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0 &&
         ::access(path.c_str(), R_OK | W_OK | X_OK) == 0;
}

bool make_private_folder(const fs::path& path) {
  std::error_code error;
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), error);
  ::mkdir(path.c_str(), S_IRWXU);  // one that is there already is judged below
  return is_private_folder(path);
}

Result<fs::path> make_temporary_folder(const fs::path& parent, std::string_view prefix) {
  std::string name = fmt::format("{}{}", (parent / prefix).string(), kRandomPart);
  if (::mkdtemp(name.data()) == nullptr) {
    return fail(Code::unavailable,
                fmt::format("no folder for compiled kernels: {}: {}", name, std::strerror(errno)));
  }
  return fs::path(name);
}

/// Whether that is a workshop in which nothing was made for a day; nothing takes that long.
bool is_abandoned(const fs::path& folder) {
  const std::string name = folder.filename().string();
  std::error_code error;
  if (!name.starts_with(kWorkshop) || name.size() != kWorkshop.size() + kRandomPart.size() ||
      !fs::is_directory(fs::symlink_status(folder, error))) {
    return false;
  }
  const auto last_use = fs::last_write_time(folder, error);
  if (error || last_use > fs::file_time_type::clock::now() - std::chrono::hours(24)) return false;
  fs::directory_iterator content(folder, error), end;
  for (; !error && content != end; content.increment(error)) {
    if (!content->path().filename().string().starts_with(kMade)) return false;
  }
  return !error;
}

/// Removes what processes that were killed have left behind.
void sweep(const fs::path& cache) {
  std::error_code error;
  for (fs::directory_iterator entry(cache, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code gone;
    if (is_abandoned(entry->path())) fs::remove_all(entry->path(), gone);
  }
}

// Files that nobody has seen yet; what was not moved away goes when it does.
struct Workshop {
  fs::path folder;

  explicit Workshop(fs::path path) : folder(std::move(path)) {}
  ~Workshop() {
    std::error_code error;
    fs::remove_all(folder, error);
  }
  Workshop(const Workshop&) = delete;
  Workshop& operator=(const Workshop&) = delete;
};

Result<void> write_file(const fs::path& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  if (file) return {};
  return fail(Code::unavailable, fmt::format("cannot write {}", path.string()));
}

// Renaming replaces a file in one step, and leaves those who have the old one open in peace.
Result<void> move_into_place(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::permissions(from, fs::perms::owner_read | fs::perms::owner_write, error);
  if (!error) fs::rename(from, to, error);
  if (!error) return {};
  return fail(Code::unavailable, fmt::format("cannot write {}: {}", to.string(), error.message()));
}

}  // namespace

std::string object_key(std::string_view text, const std::vector<std::string>& flags,
                       std::string_view compiler) {
  Hash hash;
  hash.add(fmt::format("{}", kAbiVersion));
  hash.add(compiler);
  for (const std::string& flag : flags) hash.add(flag);
  hash.add(text);
  return hash.text();
}

Result<ObjectCache> ObjectCache::open() {
  if (const auto folder = env::cache_folder(); folder && make_private_folder(*folder)) {
    std::error_code error;
    fs::path path = fs::absolute(*folder, error);
    if (!error) {
      sweep(path);
      return ObjectCache(std::move(path), false);
    }
  }
  NORITE_TRY_ASSIGN(fs::path folder,
                    make_temporary_folder(env::temporary_folder(), kTemporaryCache));
  return ObjectCache(std::move(folder), true);
}

ObjectCache::ObjectCache(ObjectCache&& other) noexcept
    : folder_(std::move(other.folder_)),
      temporary_(std::exchange(other.temporary_, false)),
      built_(other.built_.load()) {}

ObjectCache::~ObjectCache() {
  if (!temporary_) return;
  std::error_code error;
  fs::remove_all(folder_, error);
}

Result<fs::path> ObjectCache::get(std::string_view key, std::string_view suffix,
                                  const Build& build) const {
  return get_ingredient(key, suffix, [&](const std::string& object_path) -> Result<void> {
    NORITE_TRY(build(object_path));
    ++built_;
    return {};
  });
}

Result<fs::path> ObjectCache::get_ingredient(std::string_view key, std::string_view suffix,
                                             const Build& build) const {
  const fs::path object = folder_ / fmt::format("{}{}", key, suffix);
  const fs::path sum = folder_ / fmt::format("{}.xxh", key);
  if (const auto hash = hash_of_file(object); hash && contents(sum) == hash) return object;

  NORITE_TRY_ASSIGN(fs::path made, make_temporary_folder(folder_, kWorkshop));
  const Workshop workshop(std::move(made));
  const fs::path new_object = workshop.folder / fmt::format("{}{}", kMade, suffix);
  const fs::path new_sum = workshop.folder / fmt::format("{}.xxh", kMade);
  NORITE_TRY(build(new_object.string()));
  const auto hash = hash_of_file(new_object);
  if (!hash) {
    return fail(Code::unavailable, fmt::format("{} cannot be read", new_object.string()));
  }
  NORITE_TRY(write_file(new_sum, *hash));
  NORITE_TRY(move_into_place(new_object, object));
  NORITE_TRY(move_into_place(new_sum, sum));
  return object;
}

}  // namespace norite::core
