// SPDX-License-Identifier: MIT
#include "cases/reference_entry.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <set>

namespace norite::cases {
namespace {

using nlohmann::json;

/// Cases are objects of plain values: { CASE: { KEY: VALUE } }.
constexpr int kMaxDepth = 2;

/// Parses the list of cases; refuses repeated names and anything nested deeper than a case.
Result<json> parse_cases(const std::string& text) {
  std::set<std::string> names;
  std::string problem;
  const auto watch = [&](int depth, json::parse_event_t event, json& parsed) {
    using Event = json::parse_event_t;
    const bool opens = event == Event::object_start || event == Event::array_start;
    if (opens && depth >= kMaxDepth) problem = "nests values deeper than one object for each case";
    if (event == Event::key && depth == 1) {
      const auto& name = parsed.get_ref<const std::string&>();
      if (!names.insert(name).second) problem = fmt::format("lists '{}' twice", name);
    }
    return problem.empty();
  };
  json cases = json::parse(text, watch, /*allow_exceptions=*/false);
  if (!problem.empty()) return fail(Code::bad_file, "metadata key 'cases' " + problem);
  if (cases.is_discarded()) return fail(Code::bad_file, "metadata key 'cases' is not JSON");
  if (!cases.is_object()) return fail(Code::bad_file, "metadata key 'cases' is not a JSON object");
  if (cases.empty()) return fail(Code::bad_file, "metadata key 'cases' lists no cases");
  return cases;
}

template <class T>
Values widen(std::span<const std::byte> bytes) {
  Values values(bytes.size() / sizeof(T));
  for (size_t i = 0; i < values.size(); ++i) {
    T value;
    std::memcpy(&value, &bytes[i * sizeof(T)], sizeof(T));
    values[i] = static_cast<double>(value);
  }
  return values;
}

std::optional<Values> to_values(const SafetensorsTensor& tensor) {
  if (tensor.dtype == "F64") return widen<double>(tensor.data);
  if (tensor.dtype == "F32") return widen<float>(tensor.data);
  if (tensor.dtype == "I64") return widen<int64_t>(tensor.data);
  if (tensor.dtype == "I32") return widen<int32_t>(tensor.data);
  if (tensor.dtype == "U32") return widen<uint32_t>(tensor.data);
  return std::nullopt;
}

}  // namespace

tl::unexpected<Error> ReferenceEntry::bad(std::string_view what) const {
  return fail(Code::bad_file, fmt::format("case '{}': {}", name_, what));
}

Result<std::string> ReferenceEntry::text(const char* key,
                                         std::optional<std::string> fallback) const {
  const auto found = parameters_.find(key);
  if (found == parameters_.end() && fallback) return *std::move(fallback);
  if (found == parameters_.end()) return bad(fmt::format("parameter '{}' is missing", key));
  if (!found->is_string()) return bad(fmt::format("parameter '{}' is not a string", key));
  return found->get<std::string>();
}

Result<double> ReferenceEntry::number(const char* key, std::optional<double> fallback) const {
  const auto found = parameters_.find(key);
  if (found == parameters_.end() && fallback) return *fallback;
  if (found == parameters_.end()) return bad(fmt::format("parameter '{}' is missing", key));
  if (!found->is_number()) return bad(fmt::format("parameter '{}' is not a number", key));
  return found->get<double>();
}

Result<float> ReferenceEntry::real(const char* key, float fallback) const {
  NORITE_TRY_ASSIGN(const double value, number(key, fallback));
  if (std::abs(value) <= std::numeric_limits<float>::max()) return static_cast<float>(value);
  return bad(fmt::format("parameter '{}' is {}, which is beyond the range of f32", key, value));
}

Result<int64_t> ReferenceEntry::integer(const char* key, int64_t least, int64_t most,
                                        std::optional<int64_t> fallback) const {
  const auto as_double = fallback ? std::optional(static_cast<double>(*fallback)) : std::nullopt;
  NORITE_TRY_ASSIGN(const double value, number(key, as_double));
  const bool fits = value >= static_cast<double>(least) && value <= static_cast<double>(most);
  if (fits && value == std::floor(value)) return static_cast<int64_t>(value);
  return bad(fmt::format("parameter '{}' is {}, expected a whole number from {} to {}", key, value,
                         least, most));
}

Result<bool> ReferenceEntry::flag(const char* key, bool fallback) const {
  const auto found = parameters_.find(key);
  if (found == parameters_.end()) return fallback;
  if (!found->is_boolean()) return bad(fmt::format("parameter '{}' is not true or false", key));
  return found->get<bool>();
}

bool ReferenceEntry::has(std::string_view field) const {
  return file_.find(fmt::format("{}/{}", name_, field)).has_value();
}

Result<Given> ReferenceEntry::tensor(std::string_view field, std::string_view suffix) const {
  const auto tensor = file_.find(fmt::format("{}/{}", name_, field));
  if (!tensor) return bad(fmt::format("tensor '{}/{}' is missing", name_, field));
  auto values = to_values(*tensor);
  if (values) {
    return Given{fmt::format("{}{}", field, suffix), tensor->shape, *std::move(values)};
  }
  return bad(fmt::format("tensor '{}/{}' has dtype {}, expected F32, F64, I32, U32 or I64", name_,
                         field, tensor->dtype));
}

Result<std::vector<ReferenceEntry>> reference_entries(const SafetensorsFile& file) {
  const auto found = file.metadata().find("cases");
  if (found == file.metadata().end()) {
    return fail(Code::bad_file, "the metadata has no key 'cases', so there is nothing to check");
  }
  NORITE_TRY_ASSIGN(const json cases, parse_cases(found->second));
  std::vector<ReferenceEntry> entries;
  for (const auto& [name, parameters] : cases.items()) {
    if (!parameters.is_object()) {
      return fail(Code::bad_file, fmt::format("case '{}' is not a JSON object", name));
    }
    entries.emplace_back(file, name, parameters);
  }
  return entries;
}

}  // namespace norite::cases
