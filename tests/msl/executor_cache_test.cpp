// SPDX-License-Identifier: MIT
// From text to a loaded object: the compiler, its refusals, and the cache of what it made.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <fstream>

#include "core/subprocess.hpp"
#include "msl/executor_support.hpp"
#include "msl/linker.hpp"
#include "msl/lower_clang.hpp"
#include "msl/module.hpp"
#include "msl/toolchain.hpp"
#include "scoped_env.hpp"

namespace norite {
namespace {

namespace fs = std::filesystem;

using core::ObjectCache;
using cpu::msl::compile;
using msl::Toolchain;
using test::expect_error;
using test::must;
using test::ScopedEnv;
using test::TemporaryFolder;

const std::string kText = test::kernel_text("buffer(int, 0)[0] = 42;");

int answer(const cpu::msl::KernelObject& object) {
  std::vector<int> out(1);
  must(
      cpu::msl::run(object, {.kernel = "k", .buffers = {test::bind(0, out)}}, test::ThreadsCall()));
  return out[0];
}

std::vector<fs::path> files(const fs::path& folder) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder)) found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<fs::path> files_named(const fs::path& folder, const char* extension) {
  std::vector<fs::path> found = files(folder);
  std::erase_if(found, [&](const fs::path& path) { return path.extension() != extension; });
  return found;
}

mode_t mode(const fs::path& path) {
  struct stat status = {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  return status.st_mode & 0777;
}

void overwrite(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

class ExecutorCacheTest : public ::testing::Test {
 protected:
  fs::path path() const { return folder_.path() / "a" / "cache"; }
  ObjectCache open() const {
    const ScopedEnv env("NORITE_CACHE_DIR", path().c_str());
    return must(ObjectCache::open());
  }

  TemporaryFolder folder_;
};

TEST_F(ExecutorCacheTest, keeps_what_was_compiled_for_the_user_alone) {
  const auto cache = open();
  EXPECT_EQ(cache.folder(), path());
  EXPECT_EQ(mode(path()), 0700U);
  EXPECT_EQ(answer(*must(compile(cache, "k", kText, false))), 42);
  const auto stored = files(path());
  ASSERT_EQ(stored.size(), 2U);  // the object and its sum, nothing else
  for (const fs::path& file : stored) EXPECT_EQ(mode(file), 0600U);

  const auto written = fs::last_write_time(stored[0]);
  EXPECT_EQ(answer(*must(compile(open(), "k", kText, false))), 42);
  EXPECT_EQ(fs::last_write_time(stored[0]), written);
  EXPECT_EQ(answer(*must(compile(cache, "k", kText + "// other\n", false))), 42);
  EXPECT_EQ(files(path()).size(), 4U);
}

TEST_F(ExecutorCacheTest, rebuilds_what_it_cannot_trust) {
  const auto cache = open();
  must(compile(cache, "k", kText, false));
  const auto stored = files(path());
  for (const std::string& rubbish :
       {std::string(), std::string("rubbish"), std::string(9000, 'x')}) {
    for (const fs::path& file : stored) {
      overwrite(file, rubbish);
      EXPECT_EQ(answer(*must(compile(cache, "k", kText, false))), 42);
    }
  }
  fs::remove(stored[1]);
  EXPECT_EQ(answer(*must(compile(cache, "k", kText, false))), 42);
  EXPECT_EQ(files(path()), stored);
}

TEST_F(ExecutorCacheTest, what_is_no_file_is_an_error_and_not_waited_for) {
  const auto cache = open();
  must(compile(cache, "k", kText, false));
  const auto stored = files(path());
  const auto compiled = std::ranges::find(stored, ".so", &fs::path::extension);
  ASSERT_NE(compiled, stored.end());
  fs::remove(*compiled);
  ASSERT_EQ(::mkfifo(compiled->c_str(), 0600), 0);
  EXPECT_EQ(answer(*must(compile(cache, "k", kText, false))), 42);  // a file has its place
  fs::remove(*compiled);
  fs::create_directory(*compiled);
  expect_error(compile(cache, "k", kText, false), Code::unavailable, {compiled->string()});
}

TEST_F(ExecutorCacheTest, removes_what_killed_processes_left_a_day_ago) {
  open();
  const auto folder_with = [&](const std::string& name, const char* file, int hours) {
    const fs::path folder = path() / name;
    fs::create_directory(folder);
    overwrite(folder / file, "half");
    fs::last_write_time(folder, fs::file_time_type::clock::now() - std::chrono::hours(hours));
    return folder;
  };
  const auto left = folder_with("norite-workshop-abcdef", "kernel.so.o", 25);
  const fs::path others[] = {folder_with("norite-workshop-ghijkl", "kernel.so", 23),
                             folder_with("norite-workshop-mnopqr", "thesis.tex", 25),
                             folder_with("norite-workshop-of-mine", "kernel.so", 25),
                             folder_with("norite-0.1", "kernel.so", 25)};
  open();
  EXPECT_FALSE(fs::exists(left));
  for (const fs::path& other : others) EXPECT_TRUE(fs::exists(other)) << other;
}

/// As text is lowered: after the standard library.
std::string text_with_library(int answer) {
  return msl::clang_library() +
         fmt::format(
             "static void norite_run(const norite_msl::ThreadPlace*, "
             "const norite_msl::Arguments* a) {{ *static_cast<int*>(a->buffer[0]) = {}; }}\n"
             "extern \"C\" __attribute__((visibility(\"default\")))\n"
             "const norite_msl::Entry norite_msl_entry = "
             "{{norite_run, norite_msl::attach, {{4}}}};\n",
             answer);
}

TEST_F(ExecutorCacheTest, the_standard_library_is_parsed_once) {
  const auto cache = open();
  EXPECT_EQ(answer(*must(compile(cache, "k", text_with_library(1), false))), 1);
  const auto parsed = files_named(path(), ".pch");
  ASSERT_EQ(parsed.size(), 1U);
  const auto written = fs::last_write_time(parsed[0]);
  EXPECT_EQ(answer(*must(compile(cache, "k", text_with_library(2), false))), 2);
  EXPECT_EQ(fs::last_write_time(parsed[0]), written);
  EXPECT_EQ(cache.built(), 2);

  overwrite(parsed[0], "rubbish");
  EXPECT_EQ(answer(*must(compile(cache, "k", text_with_library(3), false))), 3);
  EXPECT_GT(fs::file_size(parsed[0]), 1000U);
  EXPECT_EQ(files_named(path(), ".pch"), parsed);
}

/// Falling back to the whole text would hide that the library is not continued.
TEST_F(ExecutorCacheTest, lowered_text_continues_the_precompiled_library) {
  fs::create_directories(path());
  const auto module = must(msl::parse({.name = "k.metal", .text = "kernel void k() {}\n"}, {}));
  const std::string lowered = must(msl::lower_for_clang(module, module.kernels.at(0), {}));
  const auto own_text = msl::after_clang_library(lowered);
  ASSERT_TRUE(own_text);
  const auto toolchain = must(msl::Toolchain::find());
  for (const bool checked : {false, true}) {
    const auto flags = msl::compile_flags(checked);
    const std::string library = (path() / "library.pch").string();
    must(toolchain.precompile(msl::clang_library(), library, flags));
    must(toolchain.compile_after(library, *own_text, (path() / "kernel.so").string(), flags));
    EXPECT_EQ(files(path()).size(), 2U);  // nothing on the way to the object stays
  }
}

TEST_F(ExecutorCacheTest, a_folder_that_others_can_write_to_is_not_used) {
  fs::create_directories(path());
  ::chmod(path().c_str(), 0777);
  fs::path temporary;
  {
    const auto cache = open();
    temporary = cache.folder();
    EXPECT_NE(temporary, path());
    EXPECT_EQ(mode(temporary), 0700U);
    EXPECT_EQ(answer(*must(compile(cache, "k", kText, false))), 42);
    EXPECT_TRUE(files(path()).empty());
  }
  EXPECT_FALSE(fs::exists(temporary));
}

TEST_F(ExecutorCacheTest, a_path_that_is_no_folder_is_not_used) {
  fs::create_directories(path().parent_path());
  overwrite(path(), "a file");
  EXPECT_NE(open().folder(), path());
  const ScopedEnv env("NORITE_CACHE_DIR", "/dev/null/cache");
  EXPECT_EQ(answer(*must(compile(must(ObjectCache::open()), "k", kText, false))), 42);
}

TEST_F(ExecutorCacheTest, follows_the_user_s_cache_folder) {
  const ScopedEnv none("NORITE_CACHE_DIR", nullptr);
  const ScopedEnv xdg("XDG_CACHE_HOME", folder_.path().c_str());
  EXPECT_EQ(must(ObjectCache::open()).folder(), folder_.path() / "norite");
}

TEST_F(ExecutorCacheTest, the_key_depends_on_everything) {
  const std::string key = core::object_key("text", {"-a", "-b"}, "clang 19");
  EXPECT_EQ(key.size(), 32U);
  EXPECT_EQ(key, core::object_key("text", {"-a", "-b"}, "clang 19"));
  EXPECT_NE(key, core::object_key("text2", {"-a", "-b"}, "clang 19"));
  EXPECT_NE(key, core::object_key("text", {"-a-b"}, "clang 19"));
  EXPECT_NE(key, core::object_key("text", {"-a"}, "-bclang 19"));
  EXPECT_NE(key, core::object_key("text", {"-a", "-b"}, "clang 20"));
}

TEST_F(ExecutorCacheTest, text_that_does_not_compile_gives_the_compiler_s_words) {
  const auto cache = open();
  const auto result =
      compile(cache, "broken", test::kernel_text("int x = 1;\nthis is wrong;"), false);
  expect_error(result, Code::compile_failed, {"broken", "clang"});
  EXPECT_NE(result.error().log.find("k.metal:2:"), std::string::npos) << result.error().log;
  EXPECT_TRUE(files(path()).empty());
}

TEST_F(ExecutorCacheTest, text_without_an_entry_is_refused) {
  expect_error(compile(open(), "k", "int x;", false), Code::internal, {"norite_msl_entry"});
}

TEST_F(ExecutorCacheTest, kernels_may_call_the_c_library_alone) {
  const auto cache = open();
  const auto power = must(compile(
      cache, "k", test::kernel_text("buffer(float, 0)[0] = __builtin_exp2f(buffer(float, 0)[0]);"),
      false));
  std::vector<float> value = {3.0f};
  must(cpu::msl::run(*power, {.kernel = "k", .buffers = {test::bind(0, value)}},
                     test::ThreadsCall()));
  EXPECT_EQ(value[0], 8.0f);
  const std::string unknown = "void nowhere() __asm__(\"norite_nowhere\"); nowhere();";
  expect_error(compile(cache, "k", test::kernel_text(unknown), false), Code::internal,
               {"norite_nowhere"});
}

/// Programs that stand in for clang and its linker.
class LinkerTest : public ::testing::Test {
 protected:
  std::string script(const char* name, const std::string& text) const {
    const fs::path path = folder_.path() / name;
    overwrite(path, "#!/bin/sh\n" + text + "\n");
    fs::permissions(path, fs::perms::owner_all);
    return path.string();
  }
  static std::string answer_naming(const std::string& linker) {
    return fmt::format(
        "clang version 19.1.7\nTarget: any\n \"{}\" \"-shared\" \"-o\" \"norite-object\" "
        "\"-La \\\"b\\\" \\$c\" \"-lm\" \"-lc\"\n",
        linker);
  }
  msl::Linker linker(const std::string& text) const {
    auto found = msl::Linker::from_answer(answer_naming(script("ld", text)));
    EXPECT_TRUE(found);
    return *std::move(found);
  }

  TemporaryFolder folder_;
};

TEST_F(LinkerTest, is_called_as_clang_would_call_it) {
  const std::string log = (folder_.path() / "log").string();
  must(linker("printf '<%s>' \"$@\" >" + log).link("in.o", "out.so"));
  std::string line;
  std::getline(std::ifstream(log), line);
  EXPECT_EQ(line, "<-shared><-o><out.so><-La \"b\" $c><in.o><-z><defs>");
}

TEST_F(LinkerTest, looks_into_libraries_for_what_needs_them) {
  const std::string log = (folder_.path() / "log").string();
  must(linker("case \"$*\" in *-lm*-lc) echo \"$*\" >" + log + ";; *) exit 1;; esac")
           .link("in.o", "out.so"));
  std::string line;
  std::getline(std::ifstream(log), line);
  EXPECT_EQ(line, "-shared -o out.so -La \"b\" $c in.o -lm -lc");
}

TEST_F(LinkerTest, a_refusal_comes_with_the_linker_s_words) {
  const auto refused = linker("echo no such symbol >&2; exit 1").link("in.o", "out.so");
  expect_error(refused, Code::compile_failed, {"linker"});
  EXPECT_EQ(refused.error().log, "no such symbol\n");
}

TEST_F(LinkerTest, one_that_takes_too_long_is_stopped) {
  const auto start = std::chrono::steady_clock::now();
  expect_error(linker("sleep 100").link("in.o", "out.so", std::chrono::milliseconds(100)),
               Code::timeout, {"linker", "100 ms"});
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
}

TEST_F(LinkerTest, answers_without_a_linker_give_none) {
  const std::string ld = script("ld", "exit 0");
  EXPECT_TRUE(msl::Linker::from_answer(answer_naming(ld)));
  for (const std::string& answer :
       {std::string(), std::string("clang version 19.1.7\n"), answer_naming("/nonexistent/ld"),
        fmt::format("\n \"{}\" \"-o\" \"norite-object\"", ld),
        fmt::format("\n \"{}\" \"-lm\" \"-lc\"", ld)}) {
    EXPECT_FALSE(msl::Linker::from_answer(answer)) << answer;
  }
}

TEST_F(LinkerTest, without_one_clang_links) {
  const std::string clang = must(core::run({.arguments = {"/bin/sh", "-c",
                                                          "command -v clang++-19 "
                                                          "|| command -v clang++"}}))
                                .output;
  const std::string names_none = "cat <<'END'\n" + answer_naming("/nonexistent/ld") + "END\n";
  for (const std::string& asked_for_one : {names_none, std::string("exit 1")}) {
    const std::string wrapper =
        script(asked_for_one == names_none ? "names_none" : "refuses",
               "case \"$1\" in\n-\\#\\#\\#) " + asked_for_one + ";;\n*) exec " +
                   clang.substr(0, clang.find('\n')) + " \"$@\";;\nesac");
    const fs::path cache = folder_.path() / std::to_string(asked_for_one.size());
    const ScopedEnv wanted("NORITE_CLANG", wrapper.c_str());
    const ScopedEnv env("NORITE_CACHE_DIR", cache.c_str());
    EXPECT_EQ(answer(*must(compile(must(ObjectCache::open()), "k", kText, false))), 42);
  }
}

TEST(ToolchainTest, says_what_to_install_when_there_is_no_clang) {
  const ScopedEnv wanted("NORITE_CLANG", nullptr);
  const ScopedEnv path("PATH", "/nonexistent");
  expect_error(Toolchain::find(), Code::unsupported, {"clang++", "apt-get install clang-19"});
}

TEST(ToolchainTest, takes_the_clang_it_is_told_to) {
  {
    const ScopedEnv wanted("NORITE_CLANG", "/nonexistent/clang++");
    expect_error(Toolchain::find(), Code::unsupported, {"NORITE_CLANG", "/nonexistent/clang++"});
  }
  {
    const ScopedEnv wanted("NORITE_CLANG", "true");  // a program, but no clang
    expect_error(Toolchain::find(), Code::unsupported, {"NORITE_CLANG", "apt-get"});
  }
  EXPECT_NE(must(Toolchain::find()).version().find("clang"), std::string::npos);
}

TEST(SubprocessTest, collects_output_and_status) {
  const auto result =
      must(core::run({.arguments = {"/bin/sh", "-c", "echo out; echo err >&2; exit 3"}}));
  EXPECT_EQ(result.status, 3);
  EXPECT_EQ(result.output, "out\nerr\n");
  EXPECT_FALSE(result.timed_out);
  EXPECT_EQ(must(core::run({.arguments = {"/bin/sh", "-c", "kill -9 $$"}})).status, 128 + 9);
}

TEST(SubprocessTest, output_is_bounded) {
  const auto result =
      must(core::run({.arguments = {"/bin/sh", "-c", "head -c 3000000 /dev/zero"}}));
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.output.size(), size_t{256} << 10);
}

TEST(SubprocessTest, a_program_that_takes_too_long_is_killed_with_its_children) {
  const auto start = std::chrono::steady_clock::now();
  for (const char* script : {"sleep 100", "sleep 100 & wait", "exec >&- 2>&-; sleep 100"}) {
    const auto result = must(core::run(
        {.arguments = {"/bin/sh", "-c", script}, .time_limit = std::chrono::milliseconds(100)}));
    EXPECT_TRUE(result.timed_out);
    EXPECT_EQ(result.status, 128 + 9);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
}

TEST(SubprocessTest, what_cannot_be_started_is_an_error) {
  expect_error(core::run({.arguments = {"/nonexistent/program"}}), Code::unavailable,
               {"/nonexistent/program"});
}

#ifdef __linux__
TEST(SubprocessTest, a_child_inherits_its_three_streams_alone) {
  std::FILE* open_here = std::fopen("/dev/null", "r");
  const auto result = must(core::run({.arguments = {"/bin/sh", "-c", "ls /proc/$$/fd"}}));
  std::fclose(open_here);
  EXPECT_EQ(result.output.substr(0, 6), "0\n1\n2\n");
  EXPECT_LE(result.output.size(), 9U) << result.output;  // the shell may keep one of its own
}
#endif

}  // namespace
}  // namespace norite
