// SPDX-License-Identifier: MIT
#include "cases/gemma_block.hpp"

namespace norite::cases {
namespace {

constexpr int64_t kWidth = 2304, kFfnWidth = 9216;
constexpr int64_t kHeads = 8, kKeyHeads = 4, kHeadDim = 256, kContext = 512;
constexpr float kEps = 1e-6f;
const Shape kToken = {1, kWidth};
const Shape kFfn = {1, kFfnWidth};
const Shape kQuery = {1, kHeads, kHeadDim};
const Shape kKey = {1, kKeyHeads, kHeadDim};
const ops::RopeAngles kAngles = {.first_position = 100};

/// Values between -1 and 1 that repeat every so often, none of them zero.
Result<Buffer> filled(const Device& device, DType dtype, const Shape& shape) {
  NORITE_TRY_ASSIGN(Buffer buffer, device.empty(dtype, shape));
  std::vector<float> values(static_cast<size_t>(buffer.count()));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = (static_cast<float>(i * 37 % 101) - 50.5f) / 50.5f;
  }
  if (dtype == DType::f32) {
    NORITE_TRY(buffer.write(std::as_bytes(std::span(values))));
    return buffer;
  }
  std::vector<uint16_t> bits;
  for (const float value : values) {
    bits.push_back(dtype == DType::f16 ? to_float16(value).bits : to_bfloat16(value).bits);
  }
  NORITE_TRY(buffer.write(std::as_bytes(std::span(bits))));
  return buffer;
}

}  // namespace

Result<GemmaBlock> GemmaBlock::make(const Device& device, DType dtype) {
  GemmaBlock block;
  const auto fill = [&](Buffer& buffer, const Shape& shape) -> Result<void> {
    NORITE_TRY_ASSIGN(buffer, filled(device, dtype, shape));
    return {};
  };
  NORITE_TRY(fill(block.hidden_, kToken));
  NORITE_TRY(fill(block.middle_, kToken));
  for (int64_t i = 0; i < kLayers; ++i) {
    Layer& layer = block.layers_.emplace_back();
    NORITE_TRY(fill(layer.norm_weight, {kWidth}));
    NORITE_TRY(fill(layer.head_weight, {kHeadDim}));
    for (Buffer* token : {&layer.normed, &layer.attention, &layer.before_ffn, &layer.down}) {
      NORITE_TRY(fill(*token, kToken));
    }
    for (Buffer* query : {&layer.query, &layer.rotated}) NORITE_TRY(fill(*query, kQuery));
    for (Buffer* key : {&layer.key, &layer.key_cache, &layer.value, &layer.value_cache}) {
      NORITE_TRY(fill(*key, kKey));
    }
    NORITE_TRY(fill(layer.scores, {kHeads, kContext}));
    for (Buffer* ffn : {&layer.gate, &layer.up, &layer.gated}) NORITE_TRY(fill(*ffn, kFfn));
  }
  return block;
}

Result<View> GemmaBlock::intermediate(Encoder& encoder, const Shape& shape) const {
  NORITE_TRY_ASSIGN(const Buffer buffer,
                    encoder.device().pool().acquire(hidden_.dtype(), shape, Fill::uninitialised));
  return View(buffer);
}

Result<void> GemmaBlock::record_attention(Encoder& e, const Layer& layer) const {
  constexpr auto kOnePlus = ops::WeightMode::one_plus;
  const auto normalise = [&](const View& x, const View& weight, const View& y) {
    return ops::rms_norm(e,
                         {.x = x, .weight = weight, .y = y, .eps = kEps, .weight_mode = kOnePlus});
  };
  NORITE_TRY_ASSIGN(const View query, intermediate(e, kQuery));
  NORITE_TRY_ASSIGN(const View rotated, intermediate(e, kQuery));
  NORITE_TRY_ASSIGN(const View key, intermediate(e, kKey));
  NORITE_TRY_ASSIGN(const View attention, intermediate(e, kToken));
  NORITE_TRY(normalise(hidden_, layer.norm_weight, layer.normed));
  NORITE_TRY(normalise(layer.query, layer.head_weight, query));
  NORITE_TRY(ops::rope(e, {.x = query, .y = rotated, .angles = kAngles}));
  NORITE_TRY(ops::scale(e, {.x = rotated, .y = layer.rotated, .factor = 1.0f / 16.0f}));
  NORITE_TRY(normalise(layer.key, layer.head_weight, key));
  NORITE_TRY(ops::rope(e, {.x = key, .y = layer.key_cache, .angles = kAngles}));
  NORITE_TRY(ops::copy(e, {.x = layer.value, .y = layer.value_cache}));
  NORITE_TRY(ops::softcap(e, {.x = layer.scores, .y = layer.scores, .cap = 50.0f}));
  NORITE_TRY(normalise(layer.attention, layer.norm_weight, attention));
  NORITE_TRY(ops::add(e, {.a = hidden_, .b = attention, .y = middle_}));
  return normalise(middle_, layer.norm_weight, layer.before_ffn);
}

Result<void> GemmaBlock::record_ffn(Encoder& e, const Layer& layer) const {
  NORITE_TRY_ASSIGN(const View gate, intermediate(e, kFfn));
  NORITE_TRY_ASSIGN(const View down, intermediate(e, kToken));
  NORITE_TRY_ASSIGN(const View sum, intermediate(e, kToken));
  NORITE_TRY(ops::gelu(e, {.x = layer.gate, .y = gate, .form = ops::GeluForm::tanh}));
  NORITE_TRY(ops::mul(e, {.a = gate, .b = layer.up, .y = layer.gated}));
  NORITE_TRY(ops::rms_norm(e, {.x = layer.down,
                               .weight = layer.norm_weight,
                               .y = down,
                               .eps = kEps,
                               .weight_mode = ops::WeightMode::one_plus}));
  NORITE_TRY(ops::add(e, {.a = middle_, .b = down, .y = sum}));
  return ops::scale(e, {.x = sum, .y = hidden_, .factor = 0.5f});
}

Result<void> GemmaBlock::record(Encoder& encoder) const {
  for (const Layer& layer : layers_) {
    NORITE_TRY(record_attention(encoder, layer));
    NORITE_TRY(record_ffn(encoder, layer));
  }
  return {};
}

}  // namespace norite::cases
