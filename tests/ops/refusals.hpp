// SPDX-License-Identifier: MIT
// What every operation must refuse, whatever it computes. A test file describes its operations,
// each as a struct of this form, and instantiates the suite `Refusals` with them:
//
//   struct Spec {
//     using Op = ops::RmsNorm;                           // the descriptor
//     static constexpr std::string_view kName = "rms_norm";
//     static Result<void> run(Encoder&, const Op&);
//     static Op good(Tensors&);                          // every field given, everything f32
//     static std::vector<Field<Op>> fields();            // its views; the first sets the shape
//     static std::vector<Pair> in_place();               // outputs that may be an input
//     static std::vector<Spoiled<Op>> others(Tensors&);  // what is wrong for this one alone
//   };
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <utility>

#include "support.hpp"

namespace norite::test {

/// Device memory in which a write would be noticed.
class Tensors {
 public:
  explicit Tensors(const Device& device) : device_(device) {}

  View make(const Shape& shape, DType dtype = DType::f32) {
    Buffer buffer = must(device_.empty(dtype, shape));
    std::memset(buffer.host_data(), kMark, static_cast<size_t>(buffer.size_bytes()));
    return memory_.emplace_back(buffer);
  }
  /// Of that shape, but with other strides than the natural ones.
  View strided(const Shape& shape, const Strides& strides) {
    int64_t count = 1;
    for (int axis = 0; axis < shape.rank(); ++axis) count += (shape[axis] - 1) * strides[axis];
    return must(View::make(make({count}).buffer(), DType::f32, shape, strides, 0));
  }
  /// Four leading axes of which no two lie evenly: more than kernels take.
  View scattered(int64_t dim) {
    return strided({2, 2, 2, 2, dim}, {27 * dim, 9 * dim, 3 * dim, dim, 1});
  }
  [[nodiscard]] bool untouched() const {
    return std::all_of(memory_.begin(), memory_.end(), [](const Buffer& buffer) {
      const std::byte* data = buffer.host_data();
      return std::count(data, data + buffer.size_bytes(), std::byte{kMark}) == buffer.size_bytes();
    });
  }

 private:
  static constexpr unsigned char kMark = 0x3C;

  Device device_;
  std::vector<Buffer> memory_;
};

enum class Lies : uint8_t {
  contiguous,  // along the last axis
  anyhow,
};

/// One view of a descriptor.
template <class Op>
struct Field {
  const char* name;
  View& (*of)(Op&);
  bool required = false;
  bool output = false;
  Lies lies = Lies::contiguous;
  bool any_float = false;
};

/// An output and the input that it may be.
using Pair = std::pair<std::string_view, std::string_view>;

/// A descriptor with one thing wrong, and the argument that its refusal must name, or more of what
/// it must begin with.
template <class Op>
struct Spoiled {
  const char* why;
  std::string argument;
  std::function<void(Op&)> spoil;
};

/// A row of Spoiled for a value that does not fit.
template <class Op, class Value>
Spoiled<Op> with(std::string argument, Value Op::* member, Value value) {
  return {"value", std::move(argument), [=](Op& op) { op.*member = value; }};
}

/// Rows of Spoiled for an enumeration of so many values: the first that it has not, and the last.
template <class Op, class Choice>
std::vector<Spoiled<Op>> with_unknown(const std::string& argument, Choice Op::* member,
                                      int values) {
  std::vector<Spoiled<Op>> rows;
  for (const int value : {values, UINT8_MAX}) {
    rows.push_back(with(argument + " is " + std::to_string(value) + ", expected", member,
                        static_cast<Choice>(value)));
  }
  return rows;
}

template <class Op>
void append(std::vector<Spoiled<Op>>& rows, const std::vector<Spoiled<Op>>& more) {
  rows.insert(rows.end(), more.begin(), more.end());
}

template <class Spec>
class Refusals : public ::testing::Test {
 protected:
  using Op = typename Spec::Op;

  // The operation, with one thing wrong, is refused with a message that says what was expected;
  // it records nothing and touches nothing.
  Error refusal(const char* why, const std::function<void(Op&)>& spoil) {
    SCOPED_TRACE(why);
    Op op = good_;
    spoil(op);
    Encoder encoder = device_.encoder();
    const auto result = Spec::run(encoder, op);
    test::expect_refused(result);
    EXPECT_EQ(encoder.counters().dispatches, 0);
    must(encoder.submit_and_wait());
    EXPECT_TRUE(tensors_.untouched());
    return result ? Error{Code::internal, "accepted"} : result.error();
  }
  void expect_refused(const char* why, const std::string& argument,
                      const std::function<void(Op&)>& spoil) {
    const std::string message = refusal(why, spoil).message;
    EXPECT_TRUE(message.starts_with(std::string(Spec::kName) + ": " + argument + " "))
        << why << " of " << argument << ": " << message;
  }
  void expect_field_refused(const char* why, const Field<Op>& field, const View& view) {
    expect_refused(why, field.name, [&](Op& op) { field.of(op) = view; });
  }

  Device device_ = cpu_device();
  Tensors tensors_{device_};
  Op good_ = Spec::good(tensors_);
  std::vector<Field<Op>> fields_ = Spec::fields();
};

TYPED_TEST_SUITE_P(Refusals);

TYPED_TEST_P(Refusals, the_good_one_is_accepted) {
  Encoder encoder = this->device_.encoder();
  must(TypeParam::run(encoder, this->good_));
  EXPECT_GT(encoder.counters().dispatches, 0);
}

TYPED_TEST_P(Refusals, a_missing_argument_is_refused) {
  for (const auto& field : this->fields_) {
    if (field.required) this->expect_field_refused("missing", field, {});
  }
}

TYPED_TEST_P(Refusals, a_wrong_dtype_is_refused) {
  for (const auto& field : this->fields_) {
    const Shape shape = field.of(this->good_).shape();
    this->expect_field_refused("u16", field, this->tensors_.make(shape, DType::u16));
    if (field.any_float || &field == &this->fields_.front()) continue;
    this->expect_field_refused("f16 among f32", field, this->tensors_.make(shape, DType::f16));
  }
}

TYPED_TEST_P(Refusals, a_wrong_shape_is_refused) {
  const auto& first = this->fields_.front();
  this->expect_field_refused("no axis", first, this->tensors_.make({}));
  for (auto field = this->fields_.begin() + 1; field != this->fields_.end(); ++field) {
    const View& view = field->of(this->good_);
    Shape longer = view.shape();
    ++longer[longer.rank() - 1];
    Shape more = view.shape();
    ++more[0];
    Shape deeper = view.shape();
    deeper.push_back(1);
    for (const Shape& shape : {Shape{}, longer, more, deeper}) {
      if (shape == view.shape()) continue;
      this->expect_field_refused("shape", *field, this->tensors_.make(shape, view.dtype()));
    }
  }
}

TYPED_TEST_P(Refusals, gaps_along_the_last_axis_are_refused) {
  for (const auto& field : this->fields_) {
    if (field.lies == Lies::anyhow) continue;
    const Shape shape = field.of(this->good_).shape();
    Strides strides = contiguous_strides(shape);
    for (int axis = 0; axis < strides.rank(); ++axis) strides[axis] *= 2;
    this->expect_field_refused("gaps", field, this->tensors_.strided(shape, strides));
    strides[strides.rank() - 1] = 0;
    this->expect_field_refused("repeats", field, this->tensors_.strided(shape, strides));
  }
}

TYPED_TEST_P(Refusals, an_output_that_repeats_its_elements_is_refused) {
  for (const auto& field : this->fields_) {
    if (!field.output) continue;
    const Shape shape = field.of(this->good_).shape();
    Strides strides = contiguous_strides(shape);
    strides[0] = 0;
    this->expect_field_refused("repeats", field, this->tensors_.strided(shape, strides));
    if (shape.rank() < 2) continue;
    strides[0] = strides[1];
    this->expect_field_refused("overlaps", field, this->tensors_.strided(shape, strides));
  }
}

// Every output against every other operand: lying inside it, being it, and shifted by one.
TYPED_TEST_P(Refusals, an_output_that_shares_memory_is_refused) {
  const auto allowed = TypeParam::in_place();
  for (const auto& output : this->fields_) {
    for (const auto& other : this->fields_) {
      if (!output.output || &output == &other) continue;
      const View a = output.of(this->good_);
      const View b = other.of(this->good_);
      const auto expect_clash = [&](const char* why, const View& for_output,
                                    const View& for_other) {
        const std::string message = this->refusal(why,
                                                  [&](auto& op) {
                                                    output.of(op) = for_output;
                                                    other.of(op) = for_other;
                                                  })
                                        .message;
        const auto says = [&](const char* one, const char* two) {
          return message.find(std::string(one) + " shares memory with " + two) != message.npos;
        };
        EXPECT_TRUE(says(output.name, other.name) || says(other.name, output.name))
            << output.name << " and " << other.name << ", " << why << ": " << message;
      };
      const bool in_place =
          std::find(allowed.begin(), allowed.end(), Pair{output.name, other.name}) != allowed.end();
      if (a.shape() != b.shape() || a.dtype() != b.dtype()) {
        const View& larger = a.size_bytes() > b.size_bytes() ? a : b;
        const auto inside = [&](const View& view) {
          return must(View::make(larger.buffer(), view.dtype(), view.shape(),
                                 contiguous_strides(view.shape()), 0));
        };
        expect_clash("inside", inside(a), inside(b));
        continue;
      }
      if (!in_place) expect_clash("the same", a, a);
      Shape one_more = a.shape();
      ++one_more[0];
      const View all = this->tensors_.make(one_more, a.dtype());
      expect_clash("shifted", must(all.slice(0, 0, a.shape()[0])),
                   must(all.slice(0, 1, a.shape()[0] + 1)));
    }
  }
}

TYPED_TEST_P(Refusals, an_output_in_place_is_accepted) {
  for (const auto& [output, input] : TypeParam::in_place()) {
    auto op = this->good_;
    View* target = nullptr;
    View* source = nullptr;
    for (const auto& field : this->fields_) {
      if (field.name == output) target = &field.of(op);
      if (field.name == input) source = &field.of(op);
    }
    ASSERT_TRUE(target != nullptr && source != nullptr) << output << " in " << input;
    *target = *source;
    Encoder encoder = this->device_.encoder();
    EXPECT_TRUE(TypeParam::run(encoder, op)) << output << " in " << input;
  }
}

TYPED_TEST_P(Refusals, memory_of_another_device_is_refused) {
  const Device other = cpu_device();
  Tensors elsewhere(other);
  for (const auto& field : this->fields_) {
    const View& view = field.of(this->good_);
    const View foreign = elsewhere.make(view.shape(), view.dtype());
    this->expect_field_refused("of another device", field, foreign);
  }
}

TYPED_TEST_P(Refusals, what_is_wrong_for_this_operation_alone_is_refused) {
  for (const auto& row : TypeParam::others(this->tensors_)) {
    this->expect_refused(row.why, row.argument, row.spoil);
  }
}

TYPED_TEST_P(Refusals, a_submitted_encoder_and_a_closed_device_are_refused) {
  Encoder submitted = this->device_.encoder();
  must(submitted.submit_and_wait());
  expect_error(TypeParam::run(submitted, this->good_), Code::failed_precondition,
               {TypeParam::kName, "submitted"});
  EXPECT_EQ(submitted.counters().dispatches, 0);
  Encoder late = this->device_.encoder();
  this->device_.close();
  expect_error(TypeParam::run(late, this->good_), Code::failed_precondition,
               {TypeParam::kName, "closed"});
  EXPECT_EQ(late.counters().dispatches, 0);
  EXPECT_TRUE(this->tensors_.untouched());
  EXPECT_EQ(this->device_.pool().statistics().bytes_in_use, 0);
}

REGISTER_TYPED_TEST_SUITE_P(Refusals, the_good_one_is_accepted, a_missing_argument_is_refused,
                            a_wrong_dtype_is_refused, a_wrong_shape_is_refused,
                            gaps_along_the_last_axis_are_refused,
                            an_output_that_repeats_its_elements_is_refused,
                            an_output_that_shares_memory_is_refused, an_output_in_place_is_accepted,
                            memory_of_another_device_is_refused,
                            what_is_wrong_for_this_operation_alone_is_refused,
                            a_submitted_encoder_and_a_closed_device_are_refused);

/// The field of that member, for tables: required<&Op::x>("x").
template <auto kMember>
struct MemberOf;
template <class Op, View Op::* kMember>
struct MemberOf<kMember> {
  using Type = Op;
  static View& get(Op& op) { return op.*kMember; }
};

template <auto kMember>
auto required(const char* name) {
  using Member = MemberOf<kMember>;
  return Field<typename Member::Type>{name, Member::get, true};
}
template <auto kMember>
auto optional(const char* name) {
  using Member = MemberOf<kMember>;
  return Field<typename Member::Type>{name, Member::get};
}
template <class Op>
Field<Op> written(Field<Op> field) {
  field.output = true;
  return field;
}
/// One value for each row: any strides will do.
template <class Op>
Field<Op> per_row(Field<Op> field) {
  field.lies = Lies::anyhow;
  return field;
}
template <class Op>
Field<Op> any_float(Field<Op> field) {
  field.any_float = true;
  return field;
}

}  // namespace norite::test
