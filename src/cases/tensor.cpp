// SPDX-License-Identifier: MIT
#include "cases/tensor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

namespace norite::cases {
namespace {

constexpr std::byte kPoison{0xFF};
constexpr int64_t kChunkBytes = int64_t{1} << 20;

/// Neighbouring elements of a view: [first, first + count) row-major, at one byte offset.
struct Run {
  int64_t first;
  int64_t count;
  int64_t offset_bytes;
};

int64_t last_extent(const Shape& shape) { return shape.empty() ? 1 : shape.back(); }

int64_t rows_of(const View& view) { return view.count() / last_extent(view.shape()); }

int64_t row_offset_bytes(const View& view, int64_t row) {
  int64_t offset = 0;
  for (int axis = view.shape().rank() - 2; axis >= 0; --axis) {
    offset += row % view.shape()[axis] * view.strides()[axis];
    row /= view.shape()[axis];
  }
  return view.byte_offset() + offset * size_of(view.dtype());
}

int64_t element_step_bytes(const View& view) {
  return (view.shape().empty() ? 1 : view.strides().back()) * size_of(view.dtype());
}

std::vector<Run> runs_of(const View& view) {
  if (view.contiguous()) return {{0, view.count(), view.byte_offset()}};
  const int64_t length = last_extent(view.shape());
  const int64_t step = element_step_bytes(view);
  const bool whole_rows = step == size_of(view.dtype()) || length == 1;
  std::vector<Run> runs;
  for (int64_t row = 0; row < rows_of(view); ++row) {
    const int64_t offset = row_offset_bytes(view, row);
    if (whole_rows) {
      runs.push_back({row * length, length, offset});
      continue;
    }
    for (int64_t i = 0; i < length; ++i) runs.push_back({row * length + i, 1, offset + i * step});
  }
  return runs;
}

Strides strides_for(const Shape& shape, const Layout& layout) {
  std::vector<int> order = layout.order;
  if (order.empty()) {
    order.resize(static_cast<size_t>(shape.rank()));
    std::iota(order.begin(), order.end(), 0);
  }
  Strides strides = shape;
  int64_t stride = 1;
  for (auto axis = order.rbegin(); axis != order.rend(); ++axis) {
    const bool repeated = layout.repeat_row && axis != order.rbegin();
    strides[*axis] = repeated ? 0 : stride;
    stride *= shape[*axis];
    if (axis == order.rbegin()) stride += layout.row_gap;
  }
  return strides;
}

int64_t span_bytes(const Shape& shape, const Strides& strides, DType dtype) {
  int64_t last = 0;
  for (int axis = 0; axis < shape.rank(); ++axis) last += (shape[axis] - 1) * strides[axis];
  return (last + 1) * size_of(dtype);
}

Result<void> fill_with_poison(Buffer& buffer, int64_t begin, int64_t end) {
  const std::vector<std::byte> chunk(static_cast<size_t>(std::min(kChunkBytes, end - begin)),
                                     kPoison);
  for (int64_t at = begin; at < end; at += kChunkBytes) {
    const auto length = static_cast<size_t>(std::min(kChunkBytes, end - at));
    NORITE_TRY(buffer.write(std::span(chunk).first(length), at));
  }
  return {};
}

}  // namespace

Snapshot::Snapshot(const View& view, std::vector<std::byte> copy)
    : view_(&view),
      copy_(std::move(copy)),
      bytes_(copy_.empty() ? view.buffer().host_data() : copy_.data()),
      size_bytes_(view.buffer().size_bytes()) {}

Values Snapshot::values(int64_t first, int64_t count) const {
  Values values(static_cast<size_t>(count));
  const int64_t length = last_extent(view_->shape());
  const int64_t step = element_step_bytes(*view_);
  for (std::span<double> rest(values); !rest.empty();) {
    const int64_t row = first / length, column = first % length;
    const size_t in_row = std::min(rest.size(), static_cast<size_t>(length - column));
    const std::byte* from = bytes_ + row_offset_bytes(*view_, row) + column * step;
    decode(view_->dtype(), from, step, rest.first(in_row));
    rest = rest.subspan(in_row);
    first += static_cast<int64_t>(in_row);
  }
  return values;
}

bool Snapshot::unwritten(int64_t index) const {
  const int64_t length = last_extent(view_->shape());
  const std::byte* element = bytes_ + row_offset_bytes(*view_, index / length) +
                             index % length * element_step_bytes(*view_);
  return std::all_of(element, element + size_of(view_->dtype()),
                     [](std::byte b) { return b == kPoison; });
}

std::vector<std::byte> Snapshot::elements() const {
  std::vector<std::byte> elements;
  elements.reserve(static_cast<size_t>(view_->size_bytes()));
  for (const Run& run : runs_of(*view_)) {
    const std::byte* first = bytes_ + run.offset_bytes;
    elements.insert(elements.end(), first, first + run.count * size_of(view_->dtype()));
  }
  return elements;
}

std::optional<std::string> Snapshot::damage() const {
  std::vector<Run> runs = runs_of(*view_);
  std::sort(runs.begin(), runs.end(),
            [](const Run& a, const Run& b) { return a.offset_bytes < b.offset_bytes; });
  runs.push_back({0, 0, size_bytes_});
  int64_t guard_begin = 0;
  for (const Run& run : runs) {
    for (int64_t at = guard_begin; at < run.offset_bytes; ++at) {
      if (bytes_[at] == kPoison) continue;
      return fmt::format("the guard byte {} bytes after the first element was overwritten",
                         at - view_->byte_offset());
    }
    guard_begin = run.offset_bytes + run.count * size_of(view_->dtype());
  }
  return std::nullopt;
}

Result<Tensor> Tensor::allocate(const Device& device, std::string name, DType dtype,
                                const Shape& shape, const Layout& layout) {
  Tensor tensor;
  tensor.name_ = std::move(name);
  const Strides strides = strides_for(shape, layout);
  const int64_t bytes = span_bytes(shape, strides, dtype) + 2 * kGuardBytes;
  NORITE_TRY_ASSIGN(tensor.buffer_, device.empty(DType::u8, {bytes}));
  NORITE_TRY_ASSIGN(tensor.view_, View::make(tensor.buffer_, dtype, shape, strides, kGuardBytes));
  return tensor;
}

Result<Tensor> Tensor::make(const Device& device, std::string name, DType dtype, const Shape& shape,
                            const Layout& layout, const Values& values) {
  NORITE_TRY_ASSIGN(Tensor tensor, allocate(device, std::move(name), dtype, shape, layout));
  tensor.pattern_ = encode(dtype, values);
  tensor.period_ = static_cast<int64_t>(values.size());
  NORITE_TRY(tensor.reset());
  return tensor;
}

int64_t Tensor::row_length() const { return last_extent(view_.shape()); }

int64_t Tensor::row_count() const { return rows_of(view_); }

Values Tensor::row(int64_t index) const {
  Values values(static_cast<size_t>(row_length()));
  if (pattern_.empty()) return values;
  const int64_t step = size_of(view_.dtype());
  int64_t at = index * row_length() % period_;
  for (std::span<double> rest(values); !rest.empty(); at = 0) {
    const size_t in_period = std::min(rest.size(), static_cast<size_t>(period_ - at));
    decode(view_.dtype(), &pattern_[static_cast<size_t>(at * step)], step, rest.first(in_period));
    rest = rest.subspan(in_period);
  }
  return values;
}

double Tensor::at(int64_t index) const {
  if (pattern_.empty()) return 0;
  const int64_t offset = index % period_ * size_of(view_.dtype());
  return decode(view_.dtype(), &pattern_[static_cast<size_t>(offset)]);
}

Result<void> Tensor::reset() {
  const bool poison_elements = pattern_.empty() || !view_.contiguous();
  if (poison_elements) {
    NORITE_TRY(fill_with_poison(buffer_, 0, buffer_.size_bytes()));
  } else {
    NORITE_TRY(fill_with_poison(buffer_, 0, kGuardBytes));
    NORITE_TRY(fill_with_poison(buffer_, buffer_.size_bytes() - kGuardBytes, buffer_.size_bytes()));
  }
  if (pattern_.empty()) return {};
  for (const Run& run : runs_of(view_)) {
    NORITE_TRY(write_elements(run.first, run.count, run.offset_bytes));
  }
  return {};
}

Result<void> Tensor::write_elements(int64_t first, int64_t count, int64_t offset_bytes) {
  const int64_t step = size_of(view_.dtype());
  while (count > 0) {
    const int64_t at = first % period_;
    const int64_t length = std::min(count, period_ - at);
    NORITE_TRY(buffer_.write(std::span(pattern_).subspan(static_cast<size_t>(at * step),
                                                         static_cast<size_t>(length * step)),
                             offset_bytes));
    first += length;
    count -= length;
    offset_bytes += length * step;
  }
  return {};
}

Result<Snapshot> Tensor::snapshot() const {
  std::vector<std::byte> copy;
  if (buffer_.host_data() == nullptr) {
    copy.resize(static_cast<size_t>(buffer_.size_bytes()));
    NORITE_TRY(buffer_.read(copy));
  }
  return Snapshot(view_, std::move(copy));
}

bool Tensor::unchanged(const Snapshot& snapshot) const {
  const std::vector<std::byte> elements = snapshot.elements();
  for (size_t at = 0; at < elements.size(); at += pattern_.size()) {
    const size_t length = std::min(pattern_.size(), elements.size() - at);
    if (std::memcmp(pattern_.data(), &elements[at], length) != 0) return false;
  }
  return true;
}

}  // namespace norite::cases
