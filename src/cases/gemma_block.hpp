// SPDX-License-Identifier: MIT
#pragma once

#include <norite/norite.hpp>

namespace norite::cases {

/// What two layers of a model like Gemma (2304 wide, 8 heads of 256, 4 of them for keys) compute
/// for a token, or for several, beside their matrix products: norms, rotary embeddings and
/// elementwise operations. Results of matrix products are inputs, and what goes into one is an
/// output.
class GemmaBlock {
 public:
  static constexpr int64_t kLayers = 2;
  static constexpr int64_t kOperations = 32;

  [[nodiscard]] static Result<GemmaBlock> make(const Device& device, DType dtype,
                                               int64_t tokens = 1);

  /// Intermediates come from the device's pool and go back to it.
  [[nodiscard]] Result<void> record(Encoder& encoder) const;
  /// Where the hidden state comes from and goes to.
  [[nodiscard]] const Buffer& hidden() const { return hidden_; }

 private:
  struct Layer {
    Buffer norm_weight, head_weight;
    Buffer normed, query, key, key_cache, value, value_cache, rotated, scores, attention;
    Buffer before_ffn, gate, up, gated, down;
  };

  [[nodiscard]] Result<void> record_attention(Encoder& encoder, const Layer& layer) const;
  [[nodiscard]] Result<void> record_ffn(Encoder& encoder, const Layer& layer) const;
  [[nodiscard]] static Result<View> intermediate(Encoder& encoder, const Buffer& like);

  Buffer hidden_, middle_;
  std::vector<Layer> layers_;
};

}  // namespace norite::cases
