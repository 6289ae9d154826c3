// SPDX-License-Identifier: MIT
// `norite verify --reference`: results of other programs, and files that are wrong.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>

#include "command.hpp"

namespace norite {
namespace {

using nlohmann::json;
using test::CommandResult;
using test::run_norite;
using test::TemporaryFile;

const std::string kReference = NORITE_TEST_DATA "/reference_ops.safetensors";

/// A safetensors file with this header and as many zero bytes of data.
std::string safetensors(const std::string& header, size_t data_bytes = 0) {
  std::string file(sizeof(uint64_t), '\0');
  const uint64_t length = header.size();
  std::memcpy(file.data(), &length, sizeof(length));
  return file + header + std::string(data_bytes, '\0');
}

/// The same without tensors, listing these cases.
std::string with_cases(const std::string& cases) {
  return safetensors(json{{"__metadata__", {{"cases", cases}}}}.dump());
}

/// A file that is written tensor by tensor, all of them F64, with one case 'a' and
/// perhaps others.
class OneCase {
 public:
  explicit OneCase(const json& parameters, json others = json::object()) {
    others["a"] = parameters;
    header_["__metadata__"] = {{"cases", others.dump()}};
  }

  OneCase& add(const std::string& field, const std::vector<int64_t>& shape,
               const std::vector<double>& values) {
    return add_named("a/" + field, shape, values);
  }

  OneCase& add_named(const std::string& name, const std::vector<int64_t>& shape,
                     const std::vector<double>& values) {
    const size_t begin = data_.size();
    data_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double));
    header_[name] = {{"dtype", "F64"}, {"shape", shape}, {"data_offsets", {begin, data_.size()}}};
    return *this;
  }

  [[nodiscard]] std::string bytes() const { return safetensors(header_.dump()) + data_; }

 private:
  json header_;
  std::string data_;
};

CommandResult verify(const std::string& path) {
  return run_norite("verify --json --reference '" + path + "'");
}

CommandResult verify(const OneCase& one) {
  const TemporaryFile file("one_case.safetensors", one.bytes());
  return verify(file.path());
}

/// Names of results by status, as in "passed a/y".
std::vector<std::string> results_of(const CommandResult& result) {
  std::vector<std::string> results;
  const json document = result.json();
  for (const json& row : document["results"]) {
    results.push_back(row["status"].get<std::string>() + " " + row["case"].get<std::string>());
  }
  return results;
}

using Names = std::vector<std::string>;

TEST(Reference, PassesOnTheReferenceFile) {
  const CommandResult result = verify(kReference);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const json document = result.json();
  ASSERT_TRUE(document.is_object()) << result.out;
  EXPECT_EQ(document["failed"], 0);
  EXPECT_EQ(document["skipped"], 0);
  std::map<std::string, int> checks;
  for (const json& row : document["results"]) ++checks[row["op"]];
  for (const char* op : {"rms_norm", "rms_norm_mul", "rms_norm_backward", "fused_head_norm_rope",
                         "fused_head_norm_rope_backward", "flash_attn_train_bwd_compute_d"}) {
    EXPECT_GT(checks[op], 0) << op;
  }
}

TEST(Reference, NoticesAWrongReference) {
  // One bit of one result's exponent: F64, little-endian.
  std::string file = test::read_file(kReference);
  uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, file.data(), sizeof(header_bytes));
  const json header = json::parse(file.substr(8, header_bytes));
  for (const auto& [name, tensor] : header.items()) {
    if (!name.starts_with("rms_norm") || !name.ends_with("/y")) continue;
    const uint64_t begin = tensor["data_offsets"][0];
    file[8 + header_bytes + begin + 7] ^= 0x40;
    break;
  }
  const TemporaryFile wrong("wrong.safetensors", file);
  const CommandResult result = verify(wrong.path());
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.json()["failed"], 1);
}

TEST(Reference, SkipsOperationsItDoesNotKnowWithTheReason) {
  const TemporaryFile file("unknown.safetensors", with_cases(R"({"a": {"op": "softmax"}})"));
  const CommandResult result = verify(file.path());
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.err, "norite: nothing was checked\n");
  const json document = result.json();
  EXPECT_EQ(document["skipped"], 1);
  EXPECT_EQ(document["results"][0]["status"], "skipped");
  EXPECT_NE(document["results"][0]["reason"].get<std::string>().find("softmax"), std::string::npos);
}

TEST(Reference, SkipsOperationsOfNoriteThatFilesDoNotHave) {
  const TemporaryFile file("silu.safetensors", with_cases(R"({"a": {"op": "silu"}})"));
  const CommandResult result = verify(file.path());
  EXPECT_EQ(result.exit_code, 1);
  const std::string reason = result.json()["results"][0]["reason"];
  EXPECT_EQ(reason.find("has no operation"), std::string::npos) << reason;
  EXPECT_NE(reason.find("rms_norm, residual_rms_norm"), std::string::npos) << reason;
}

TEST(Reference, SkipsCasesWithoutResultsWithTheReason) {
  const json rows = {{"rows", 1}, {"dim", 2}, {"weight", "none"}};
  const json heads = {{"seq", 1}, {"heads", 1}, {"head_dim", 2}};
  const json attention = {{"batch", 1}, {"heads", 1}, {"q_len", 1}, {"head_dim", 2}};
  for (const auto& [op, extents, missing] :
       {std::tuple{"rms_norm", rows, "it has none of y, rms_inv, y_mul, dx, dw"},
        {"residual_rms_norm", rows, "it has none of sum, y, rms_inv"},
        {"head_norm_rope", heads, "it has none of y, dx, dw"},
        {"rope", heads, "it has none of y, dx"},
        {"attention", attention, "it has no D"}}) {
    json parameters = extents;
    parameters["op"] = op;
    OneCase file(parameters);
    for (const char* input : {"x", "residual", "o", "do"}) file.add(input, {1, 2}, {1, 2});
    const CommandResult result = verify(file);
    EXPECT_EQ(result.exit_code, 1) << op << result.err;
    EXPECT_EQ(results_of(result), Names{"skipped a"}) << op;
    EXPECT_EQ(result.json()["results"][0]["reason"], missing) << op;
  }
}

TEST(Reference, ChecksResultsThatTheFileHasAndNoOthers) {
  const json parameters = {{"op", "rms_norm"}, {"rows", 1}, {"dim", 2}, {"eps", 0}};
  OneCase file(parameters);
  file.add("x", {1, 2}, {3, 4}).add("rms_inv", {1}, {1 / std::sqrt(12.5)});
  EXPECT_EQ(results_of(verify(file)), Names{"passed a/rms_inv"});
  file.add("y", {1, 2}, {3 / std::sqrt(12.5), 4});
  const CommandResult wrong = verify(file);
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_EQ(results_of(wrong), (Names{"failed a/y", "passed a/rms_inv"}));
}

TEST(Reference, ChecksResidualNorms) {
  // 0.1f and 0.2f have a sum that f32 does not hold, and the file has all of it.
  const double a = 0.1f, b = 0.2f, sum[] = {a + b, 4};
  const double r = 1 / std::sqrt((sum[0] * sum[0] + sum[1] * sum[1]) / 2 + 1e-5);
  ASSERT_NE(sum[0], static_cast<float>(sum[0]));
  const auto file = [&](double last_sum, double last_y) {
    return OneCase({{"op", "residual_rms_norm"}, {"rows", 1}, {"dim", 2}, {"eps", 1e-5}})
        .add("x", {1, 2}, {a, 1})
        .add("residual", {1, 2}, {b, 3})
        .add("w", {2}, {2, 0.5})
        .add("sum", {1, 2}, {sum[0], last_sum})
        .add("y", {1, 2}, {sum[0] * r * 2, last_y})
        .add("rms_inv", {1}, {r});
  };
  const double y = sum[1] * r * 0.5;
  EXPECT_EQ(results_of(verify(file(4, y))),
            (Names{"passed a/y", "passed a/rms_inv", "passed a/sum"}));
  EXPECT_EQ(results_of(verify(file(4.000001, y * 1.00001))),
            (Names{"failed a/y", "passed a/rms_inv", "failed a/sum"}));
}

TEST(Reference, ChecksRotationsAlone) {
  const double cos = std::cos(3.0), sin = std::sin(3.0);
  const auto file = [&](double y) {
    return OneCase({{"op", "rope"}, {"seq", 1}, {"heads", 1}, {"head_dim", 2}, {"theta", 100}})
        .add("x", {1, 1, 2}, {1, 2})
        .add("dy", {1, 1, 2}, {5, 7})
        .add("positions", {1}, {3})
        .add("cos", {1, 1}, {static_cast<float>(cos)})
        .add("sin", {1, 1}, {static_cast<float>(sin)})
        .add("y", {1, 1, 2}, {cos - 2 * sin, y})
        .add("dx", {1, 1, 2}, {5 * cos + 7 * sin, 7 * cos - 5 * sin});
  };
  const CommandResult right = verify(file(sin + 2 * cos));
  EXPECT_EQ(right.exit_code, 0) << right.out;
  EXPECT_EQ(results_of(right), (Names{"passed a/y", "passed a/dx", "passed a/y (cached angles)",
                                      "passed a/dx (cached angles)"}));
  EXPECT_EQ(right.json()["results"][0]["op"], "rope");
  EXPECT_EQ(right.json()["results"][1]["op"], "rope_backward");
  EXPECT_EQ(verify(file(sin - 2 * cos)).json()["failed"], 2);
}

TEST(Reference, TakesFrequencyFactorsAsGiven) {
  const auto y_of = [](double angle) { return std::cos(angle) - 2 * std::sin(angle); };
  const auto file = [&](json parameters, double angle) {
    parameters.update({{"op", "rope"}, {"seq", 1}, {"heads", 1}, {"head_dim", 2}});
    return OneCase(parameters)
        .add("x", {1, 1, 2}, {1, 2})
        .add("positions", {1}, {3})
        .add("freq_factors", {1}, {2})
        .add("y", {1, 1, 2}, {y_of(angle), std::sin(angle) + 2 * std::cos(angle)});
  };
  EXPECT_EQ(verify(file(json::object(), 1.5)).exit_code, 0);
  EXPECT_EQ(verify(file(json::object(), 3)).exit_code, 1);
  EXPECT_EQ(verify(file({{"freq_factors", true}}, 1.5)).exit_code, 0);
  EXPECT_EQ(verify(file({{"freq_factors", false}}, 3)).exit_code, 0);
}

TEST(Reference, PassesWhereSomeOfItWasChecked) {
  const auto file = [](double y) {
    const json rows = {{"rows", 1}, {"dim", 1}, {"eps", 0}, {"op", "rms_norm"}};
    return OneCase(rows, {{"b", {{"op", "softmax"}}}}).add("x", {1, 1}, {2}).add("y", {1, 1}, {y});
  };
  const CommandResult result = verify(file(1));
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(results_of(result), (Names{"passed a/y", "skipped b"}));
  const CommandResult wrong = verify(file(2));
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_EQ(wrong.err, "");
}

TEST(Reference, ShowsAnOperationAsCheckedWhereSomeOfItWas) {
  const json parameters = {{"op", "residual_rms_norm"}, {"rows", 1}, {"dim", 1}};
  OneCase one(parameters, {{"0", parameters}});
  for (const char* name : {"0/x", "0/residual", "a/x", "a/residual"})
    one.add_named(name, {1, 1}, {1});
  const TemporaryFile file("some.safetensors", one.add("sum", {1, 1}, {2}).bytes());
  const CommandResult result = run_norite("verify --reference " + file.path());
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const size_t row = result.out.find("  residual_rms_norm  f32");
  ASSERT_NE(row, std::string::npos) << result.out;
  const std::string line = result.out.substr(row, result.out.find('\n', row) - row);
  EXPECT_TRUE(line.ends_with("  0.0e+00           0 %  ok")) << line;
  EXPECT_NE(result.out.find("1 passed, 0 failed, 1 skipped"), std::string::npos) << result.out;
}

TEST(Reference, PrintsNoControlCharactersOfNames) {
  const std::string name = "a\033[2Jb\x7F\u009Bc\nµ";
  const std::string cases = json{{name, {{"op", "soft\033max"}}}}.dump();
  const TemporaryFile file("names.safetensors", with_cases(cases));
  for (const std::string options : {"", "--verbose "}) {
    const CommandResult result = run_norite("verify " + options + "--reference " + file.path());
    EXPECT_NE(result.out.find("skipped a?[2Jb??c?µ\n  Norite has no operation 'soft?max'\n"),
              std::string::npos)
        << result.out;
    EXPECT_EQ(result.out.find("0.0e+00"), std::string::npos) << result.out;
    EXPECT_EQ(result.out.find("0 %"), std::string::npos) << result.out;
    for (const char* part : {"\033", "\x7F", "\u009B"}) {
      EXPECT_EQ(result.out.find(part), std::string::npos) << options << result.out;
    }
  }
  EXPECT_EQ(verify(file.path()).json()["results"][0]["case"], name);
  const TemporaryFile bad("names.safetensors", with_cases(json{{name, json::object()}}.dump()));
  const CommandResult result = verify(bad.path());
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_NE(result.err.find("case 'a?[2Jb??c?µ': "), std::string::npos) << result.err;
}

TEST(Reference, NeedsAPath) {
  for (const char* option : {"--reference ''", "--reference="}) {
    const CommandResult result = run_norite(std::string("verify --filter rope[f32 ") + option);
    EXPECT_EQ(result.exit_code, 2) << option;
    EXPECT_EQ(result.out, "") << option;
    EXPECT_NE(result.err.find("--reference"), std::string::npos) << result.err;
  }
}

TEST(BadReference, GradientsOfNoWeightExitWith4) {
  const auto file = [](const char* op, const std::vector<int64_t>& shape, const json& weight) {
    json parameters = {{"op", op}, {"rows", 1},  {"dim", 2},
                       {"seq", 1}, {"heads", 1}, {"head_dim", 2}};
    parameters.update(weight);
    OneCase one(parameters);
    for (const char* field : {"x", "dy", "y", "dx"}) one.add(field, shape, {1, 1});
    return one.add("positions", {1}, {0}).add("dw", {2}, {1, 1});
  };
  for (const json& weight : {json::object(), json{{"weight", "none"}}}) {
    for (const OneCase& one :
         {file("rms_norm", {1, 2}, weight), file("head_norm_rope", {1, 1, 2}, weight)}) {
      const CommandResult result = verify(one);
      EXPECT_EQ(result.exit_code, 4) << result.out;
      EXPECT_NE(result.err.find("one_case.safetensors: case 'a': tensor 'a/dw' is a gradient of a "
                                "weight, and weight is none"),
                std::string::npos)
          << result.err;
    }
  }
}

TEST(BadReference, CosinesWithoutSinesExitWith4) {
  for (const auto& [one, other] : {std::pair{"cos", "sin"}, {"sin", "cos"}}) {
    for (const char* op : {"rope", "head_norm_rope"}) {
      const CommandResult result =
          verify(OneCase({{"op", op}, {"seq", 1}, {"heads", 1}, {"head_dim", 2}})
                     .add("x", {1, 1, 2}, {1, 1})
                     .add("positions", {1}, {0})
                     .add(one, {1, 1}, {1})
                     .add("y", {1, 1, 2}, {1, 1}));
      EXPECT_EQ(result.exit_code, 4) << result.out;
      const std::string expected = std::string("it has ") + one + " and no " + other;
      EXPECT_NE(result.err.find(expected), std::string::npos) << result.err;
    }
  }
}

TEST(BadReference, ExitWith4AndAReason) {
  const std::string good = test::read_file(kReference);
  const std::string rms_norm = R"("op": "rms_norm", "rows": 1, "dim": 1, "eps": 1e-6)";
  const std::pair<const char*, std::string> files[] = {
      {"empty", ""},
      {"short", "abc"},
      {"truncated header", good.substr(0, 1000)},
      {"truncated data", good.substr(0, good.size() - 1)},
      {"header longer than the file", std::string("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F") + "{}"},
      {"not JSON", safetensors("this is not JSON")},
      {"no metadata", safetensors("{}")},
      {"cases is not JSON", with_cases("{")},
      {"cases is a list", with_cases("[]")},
      {"no cases", with_cases("{}")},
      {"a case is a number", with_cases(R"({"a": 1})")},
      {"a case twice", with_cases(R"({"a": {"op": "x"}, "a": {"op": "x"}})")},
      {"deep nesting", with_cases(std::string(100000, '['))},
      {"no op", with_cases(R"({"a": {}})")},
      {"op is a number", with_cases(R"({"a": {"op": 1}})")},
      {"rows is missing", with_cases(R"({"a": {"op": "rms_norm", "dim": 1}})")},
      {"rows is negative", with_cases(R"({"a": {"op": "rms_norm", "rows": -1, "dim": 1}})")},
      {"rows is huge", with_cases(R"({"a": {"op": "rms_norm", "rows": 1e300, "dim": 1}})")},
      {"rows is a fraction", with_cases(R"({"a": {"op": "rms_norm", "rows": 1.5, "dim": 1}})")},
      {"unknown weight", with_cases("{\"a\": {" + rms_norm + R"(, "weight": "heavy"}})")},
      {"odd half_rope_dim", with_cases(R"({"a": {"op": "head_norm_rope", "seq": 1, "heads": 1,
                                        "head_dim": 8, "half_rope_dim": 5}})")},
      {"no tensors of rms_norm", with_cases("{\"a\": {" + rms_norm + "}}")},
      {"no tensors", with_cases(R"({"a": {"op": "attention", "batch": 1, "heads": 1, "q_len": 1,
                                 "head_dim": 8}})")},
  };
  for (const auto& [what, contents] : files) {
    const TemporaryFile file("bad.safetensors", contents);
    const CommandResult result = verify(file.path());
    EXPECT_EQ(result.exit_code, 4) << what << "\n" << result.err;
    EXPECT_EQ(result.out, "") << what;
    EXPECT_NE(result.err.find("norite: error: "), std::string::npos) << what;
  }
  EXPECT_EQ(verify("/no/such/file").exit_code, 4);
}

TEST(BadReference, TensorsThatDoNotFitTheParametersExitWith4) {
  const json header = {
      {"__metadata__",
       {{"cases", R"({"a": {"op": "rms_norm", "rows": 3, "dim": 5, "weight": "none"}})"}}},
      {"a/x", {{"dtype", "F32"}, {"shape", {2, 5}}, {"data_offsets", {0, 40}}}},
      {"a/y", {{"dtype", "F64"}, {"shape", {2, 5}}, {"data_offsets", {40, 120}}}}};
  const TemporaryFile file("misfit.safetensors", safetensors(header.dump(), 120));
  const CommandResult result = verify(file.path());
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_NE(result.err.find(file.path() + ": case 'a': "), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("x has shape [2, 5], expected [3, 5]"), std::string::npos)
      << result.err;
}

TEST(BadReference, ParametersThatNoOperationTakesExitWith4) {
  const auto norm = [](double eps) {
    return OneCase({{"op", "rms_norm"}, {"rows", 1}, {"dim", 2}, {"eps", eps}})
        .add("x", {1, 2}, {1, 2})
        .add("y", {1, 2}, {1, 2});
  };
  const auto heads = [](int64_t head_dim, double theta) {
    const std::vector<double> values(static_cast<size_t>(head_dim), 1);
    return OneCase({{"op", "head_norm_rope"},
                    {"seq", 1},
                    {"heads", 1},
                    {"head_dim", head_dim},
                    {"theta", theta}})
        .add("x", {1, 1, head_dim}, values)
        .add("positions", {1}, {0})
        .add("y", {1, 1, head_dim}, values);
  };
  EXPECT_EQ(verify(norm(1e-6)).exit_code, 1);  // it runs, and y is wrong
  for (const auto& [file, name] : {std::pair{norm(-1), "eps"},
                                   {norm(1e300), "eps"},
                                   {heads(7, 10000), "head_dim"},
                                   {heads(8, 0), "theta"},
                                   {heads(8, -1), "theta"}}) {
    const CommandResult result = verify(file);
    EXPECT_EQ(result.exit_code, 4) << name << result.out;
    EXPECT_EQ(result.out, "") << name;
    EXPECT_NE(result.err.find("case 'a': "), std::string::npos) << result.err;
    EXPECT_NE(result.err.find(name), std::string::npos) << result.err;
  }
}

TEST(BadReference, TensorsOfAsManyElementsInAnotherShapeExitWith4) {
  const auto file = [](const std::vector<int64_t>& x, const std::vector<int64_t>& y) {
    const std::vector<double> ones(8, 1);
    return OneCase({{"op", "rms_norm"}, {"rows", 2}, {"dim", 4}, {"eps", 0}})
        .add("x", x, ones)
        .add("y", y, ones);
  };
  EXPECT_EQ(verify(file({2, 4}, {2, 4})).exit_code, 0);
  const CommandResult input = verify(file({4, 2}, {2, 4}));
  EXPECT_EQ(input.exit_code, 4);
  EXPECT_NE(input.err.find("x has shape [4, 2], expected [2, 4]"), std::string::npos) << input.err;
  const CommandResult result = verify(file({2, 4}, {8}));
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_NE(result.err.find("y has shape [8], expected [2, 4]"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace norite
