// SPDX-License-Identifier: MIT
#include "cli/bench_programs.hpp"

#include "cases/filled_buffer.hpp"
#include "cases/gemma_block.hpp"
#include "cases/timing.hpp"

#include <norite/norite.hpp>

#include <fmt/format.h>

#include <array>

namespace norite::cli {
namespace {

using cases::filled;

constexpr int64_t kDim = 4096;

Result<Graph::Record> prepare_block(const Device& device, int64_t tokens) {
  NORITE_TRY_ASSIGN(const auto block, cases::GemmaBlock::make(device, DType::bf16, tokens));
  return [block](Encoder& encoder) { return block.record(encoder); };
}

GraphProgram block(int64_t tokens, size_t min_repeats) {
  return {.name = fmt::format("graph[bf16,gemma_block,batch={}", tokens),
          .min_repeats = min_repeats,
          .counts_launches = tokens == 1,
          .prepare = [tokens](const Device& device) { return prepare_block(device, tokens); }};
}

/// Comes from the device's pool and goes back to it.
Result<View> intermediate_like(const Buffer& buffer, Encoder& encoder) {
  NORITE_TRY_ASSIGN(const Buffer taken, encoder.device().pool().acquire(
                                            buffer.dtype(), buffer.shape(), Fill::uninitialised));
  return View(taken);
}

/// Norms, each of what the one before it gave.
struct NormChain {
  Buffer x, y;
  int length;

  [[nodiscard]] Result<void> record(Encoder& encoder) const {
    View from = x;
    for (int i = 1; i < length; ++i) {
      NORITE_TRY_ASSIGN(const View to, intermediate_like(x, encoder));
      NORITE_TRY(ops::rms_norm(encoder, {.x = from, .y = to}));
      from = to;
    }
    return ops::rms_norm(encoder, {.x = from, .y = y});
  }
};

/// Chains of unequal lengths that could run side by side; their steps are too short to share.
Result<Graph::Record> prepare_chains(const Device& device) {
  constexpr int64_t kChainDim = 1024;
  NORITE_TRY_ASSIGN(const Buffer x, filled(device, DType::f32, {16, kChainDim}));
  NORITE_TRY_ASSIGN(const Buffer y, filled(device, DType::f32, {16, kChainDim}));
  NORITE_TRY_ASSIGN(const Buffer wide_x, filled(device, DType::f32, {48, kChainDim}));
  NORITE_TRY_ASSIGN(const Buffer wide_y, filled(device, DType::f32, {48, kChainDim}));
  return [=](Encoder& encoder) -> Result<void> {
    NORITE_TRY((NormChain{x, y, 24}.record(encoder)));
    return NormChain{wide_x, wide_y, 8}.record(encoder);
  };
}

GraphProgram two_chains() {
  return {.name = "graph[f32,two_chains,24x16+8x48 rows",
          .min_repeats = 200,
          .counts_launches = false,
          .prepare = prepare_chains};
}

/// Tensors of a program with one intermediate after another.
struct Operands {
  Buffer a, b, c, sum, y;

  [[nodiscard]] Result<View> intermediate(Encoder& encoder) const {
    return intermediate_like(a, encoder);
  }
};

Result<void> norm_mul(Encoder& e, const Operands& on) {
  NORITE_TRY_ASSIGN(const View t, on.intermediate(e));
  NORITE_TRY(ops::rms_norm(e, {.x = on.a, .y = t}));
  return ops::mul(e, {.a = t, .b = on.b, .y = on.y});
}

Result<void> add_norm(Encoder& e, const Operands& on) {
  NORITE_TRY(ops::add(e, {.a = on.a, .b = on.b, .y = on.sum}));
  return ops::rms_norm(e, {.x = on.sum, .y = on.y});
}

Result<void> silu_mul(Encoder& e, const Operands& on) {
  NORITE_TRY_ASSIGN(const View t, on.intermediate(e));
  NORITE_TRY(ops::silu(e, {.x = on.a, .y = t}));
  return ops::mul(e, {.a = t, .b = on.b, .y = on.y});
}

Result<void> four_steps(Encoder& e, const Operands& on) {
  NORITE_TRY_ASSIGN(const View t, on.intermediate(e));
  NORITE_TRY_ASSIGN(const View u, on.intermediate(e));
  NORITE_TRY_ASSIGN(const View v, on.intermediate(e));
  NORITE_TRY(ops::add(e, {.a = on.a, .b = on.b, .y = t}));
  NORITE_TRY(ops::mul(e, {.a = t, .b = on.c, .y = u}));
  NORITE_TRY(ops::scale(e, {.x = u, .y = v, .factor = 0.5f}));
  return ops::add(e, {.a = v, .b = on.a, .y = on.y});
}

struct Fused {
  std::string_view name;
  Result<void> (*record)(Encoder&, const Operands&);
};

constexpr std::array<Fused, 4> kFused = {{{"rms_norm+mul", norm_mul},
                                          {"add+rms_norm", add_norm},
                                          {"silu+mul", silu_mul},
                                          {"add+mul+scale+add", four_steps}}};

Result<Graph::Record> prepare_fused(const Device& device, const Fused& fused, DType dtype,
                                    int64_t rows) {
  Operands on;
  for (Buffer* buffer : {&on.a, &on.b, &on.c, &on.sum, &on.y}) {
    NORITE_TRY_ASSIGN(*buffer, filled(device, dtype, {rows, kDim}));
  }
  return [record = fused.record, on](Encoder& encoder) { return record(encoder, on); };
}

GraphProgram program_of(const Fused& fused, DType dtype, int64_t rows) {
  return {
      .name = fmt::format("graph[{},{},rows={},dim={}", name(dtype), fused.name, rows, kDim),
      .min_repeats = 5,
      .counts_launches = false,
      .prepare = [=](const Device& device) { return prepare_fused(device, fused, dtype, rows); }};
}

}  // namespace

std::vector<GraphProgram> graph_programs(const Device& device, std::string_view filter) {
  const bool host = cases::runs_on_host(device);
  std::vector<GraphProgram> programs = {block(1, 200), block(host ? 512 : 4096, 5), two_chains()};
  for (const DType dtype : {DType::bf16, DType::f32}) {
    for (const Fused& fused : kFused) {
      programs.push_back(program_of(fused, dtype, host ? 8192 : 32768));
    }
  }
  std::erase_if(programs, [&](const GraphProgram& program) {
    return program.name.find(filter) == std::string::npos;
  });
  return programs;
}

}  // namespace norite::cli
