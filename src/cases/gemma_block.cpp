// SPDX-License-Identifier: MIT
#include "cases/gemma_block.hpp"

#include "cases/filled_buffer.hpp"

namespace norite::cases {
namespace {

constexpr int64_t kWidth = 2304, kFfnWidth = 9216;
constexpr int64_t kHeads = 8, kKeyHeads = 4, kHeadDim = 256, kContext = 512;
constexpr float kEps = 1e-6f;
const ops::RopeAngles kAngles = {.first_position = 100};

}  // namespace

Result<GemmaBlock> GemmaBlock::make(const Device& device, DType dtype, int64_t tokens) {
  const Shape token = {tokens, kWidth}, ffn = {tokens, kFfnWidth};
  const Shape query = {tokens, kHeads, kHeadDim}, key = {tokens, kKeyHeads, kHeadDim};
  GemmaBlock block;
  const auto fill = [&](Buffer& buffer, const Shape& shape) -> Result<void> {
    NORITE_TRY_ASSIGN(buffer, filled(device, dtype, shape));
    return {};
  };
  NORITE_TRY(fill(block.hidden_, token));
  NORITE_TRY(fill(block.middle_, token));
  for (int64_t i = 0; i < kLayers; ++i) {
    Layer& layer = block.layers_.emplace_back();
    NORITE_TRY(fill(layer.norm_weight, {kWidth}));
    NORITE_TRY(fill(layer.head_weight, {kHeadDim}));
    for (Buffer* buffer : {&layer.normed, &layer.attention, &layer.before_ffn, &layer.down}) {
      NORITE_TRY(fill(*buffer, token));
    }
    for (Buffer* buffer : {&layer.query, &layer.rotated}) NORITE_TRY(fill(*buffer, query));
    for (Buffer* buffer : {&layer.key, &layer.key_cache, &layer.value, &layer.value_cache}) {
      NORITE_TRY(fill(*buffer, key));
    }
    NORITE_TRY(fill(layer.scores, {tokens * kHeads, kContext}));
    for (Buffer* buffer : {&layer.gate, &layer.up, &layer.gated}) NORITE_TRY(fill(*buffer, ffn));
  }
  return block;
}

Result<View> GemmaBlock::intermediate(Encoder& encoder, const Buffer& like) {
  NORITE_TRY_ASSIGN(const Buffer buffer, encoder.device().pool().acquire(like.dtype(), like.shape(),
                                                                         Fill::uninitialised));
  return View(buffer);
}

Result<void> GemmaBlock::record_attention(Encoder& e, const Layer& layer) const {
  constexpr auto kOnePlus = ops::WeightMode::one_plus;
  const auto normalise = [&](const View& x, const View& weight, const View& y) {
    return ops::rms_norm(e,
                         {.x = x, .weight = weight, .y = y, .eps = kEps, .weight_mode = kOnePlus});
  };
  NORITE_TRY_ASSIGN(const View query, intermediate(e, layer.query));
  NORITE_TRY_ASSIGN(const View rotated, intermediate(e, layer.query));
  NORITE_TRY_ASSIGN(const View key, intermediate(e, layer.key));
  NORITE_TRY_ASSIGN(const View attention, intermediate(e, hidden_));
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
  NORITE_TRY_ASSIGN(const View gate, intermediate(e, layer.gate));
  NORITE_TRY_ASSIGN(const View down, intermediate(e, hidden_));
  NORITE_TRY_ASSIGN(const View sum, intermediate(e, hidden_));
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
