// SPDX-License-Identifier: MIT
// Kernels that do what the machine refuses: their dispatch fails, everything else goes on.
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>

#include "msl/executor_support.hpp"

namespace norite {
namespace {

using cpu::msl::BufferBinding;
using cpu::msl::KernelObject;
using cpu::msl::Launch;
using test::bind;
using test::expect_error;
using test::kernel;
using test::must;
using test::ThreadsCall;

#ifdef __x86_64__
constexpr bool kDivisionTraps = true;
#else
constexpr bool kDivisionTraps = false;  // the quotient is zero
#endif

// Pages of memory, each as accessible as a test makes it.
class Pages {
 public:
  explicit Pages(size_t count) : bytes_(count * size()) {
    void* memory =
        ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::runtime_error("no memory");
    memory_ = static_cast<std::byte*>(memory);
  }
  ~Pages() { ::munmap(memory_, bytes_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  static size_t size() { return static_cast<size_t>(::sysconf(_SC_PAGESIZE)); }
  [[nodiscard]] std::byte* page(size_t index) const { return memory_ + index * size(); }
  void protect(size_t index, int protection) const {
    if (::mprotect(page(index), size(), protection) != 0) throw std::runtime_error("no protection");
  }
  [[nodiscard]] BufferBinding bind_page(size_t page_index, unsigned index, std::string name) const {
    return {.index = index, .data = page(page_index), .bytes = size(), .name = std::move(name)};
  }

 private:
  size_t bytes_;
  std::byte* memory_;
};

// All groups on the thread of the caller.
class SameThreadCall final : public NativeCall {
 public:
  SameThreadCall() : NativeCall({}, Grid{}) {}
  void run_ranges(int64_t count, int64_t /*grain*/, const RangeBody& body) const override {
    body(0, count);
  }
};

Result<void> run(const KernelObject& object, std::vector<BufferBinding> buffers = {}) {
  return cpu::msl::run(
      object,
      {.kernel = "k", .groups = {5, 1, 1}, .threads = {64, 1, 1}, .buffers = std::move(buffers)},
      SameThreadCall());
}

// Every thread of every group passes barriers and meets its neighbours.
void expect_good_kernel_runs(int threads = 1) {
  static const auto object = kernel(R"(
    VARIABLE(int[64], shared);
    unsigned i = place.index_in_group;
    shared[i] = buffer(int, 0)[place.position_in_grid.x];
    barrier(2);
    buffer(int, 0)[place.position_in_grid.x] = shared[63 - i] + simd_sum(1);
  )");
  constexpr int kGroups = 40;
  std::vector<int> values(64 * kGroups);
  for (int i = 0; i < 64 * kGroups; ++i) values[static_cast<size_t>(i)] = i;
  must(cpu::msl::run(*object,
                     {.kernel = "good",
                      .groups = {kGroups, 1, 1},
                      .threads = {64, 1, 1},
                      .buffers = {bind(0, values)}},
                     ThreadsCall(threads)));
  for (int i = 0; i < 64 * kGroups; ++i) {
    ASSERT_EQ(values[static_cast<size_t>(i)], i / 64 * 64 + 63 - i % 64 + 32);
  }
}

// --- What is said -----------------------------------------------------------------------------

TEST(ExecutorFaultTest, says_which_thread_and_address) {
  const auto object =
      kernel("if (place.position_in_grid.x == 3 * 64 + 5) *(volatile int*)16 = 1; barrier(2);");
  expect_error(run(*object), Code::execution_failed,
               {"kernel \"k\": thread 5 of group (3, 0, 0) accessed memory that is not its own "
                "(address 0x10); run it checked to see where"});
  expect_good_kernel_runs();
}

TEST(ExecutorFaultTest, says_which_buffer_is_near) {
  const Pages pages(3);
  pages.protect(0, PROT_NONE);
  pages.protect(2, PROT_NONE);
  std::vector<int> index(1);
  const auto object = kernel("buffer(volatile char, 1)[buffer(int, 0)[0]] = 1;");
  const auto outcome = [&](int at) {
    index[0] = at;
    return run(*object, {bind(0, index), pages.bind_page(1, 1, "out")});
  };
  const int bytes = static_cast<int>(Pages::size());
  must(outcome(bytes - 1));
  expect_error(outcome(bytes + 12), Code::execution_failed,
               {"12 bytes past the end of buffer 1 \"out\""});
  expect_error(outcome(-7), Code::execution_failed, {"7 bytes before buffer 1 \"out\""});
}

TEST(ExecutorFaultTest, writes_to_memory_that_is_read_only) {
  const Pages pages(1);
  pages.protect(0, PROT_READ);
  const auto object = kernel("buffer(volatile int, 0)[2] = buffer(int, 0)[3];");
  expect_error(run(*object, {pages.bind_page(0, 0, "")}), Code::execution_failed,
               {"thread 0 of group (0, 0, 0)", "byte 8 of buffer 0"});
}

TEST(ExecutorFaultTest, addresses_that_no_memory_has) {
  const auto object = kernel("*(volatile int*)(1ull << 63) = 1;");
  expect_error(run(*object), Code::execution_failed, {"accessed memory that is not its own"});
}

TEST(ExecutorFaultTest, faults_in_functions_of_the_c_library) {
  const Pages pages(2);
  pages.protect(1, PROT_NONE);
  const auto object = kernel(R"(
    buffer(char, 0)[0] = 1;
    __builtin_memset(buffer(char, 0), 0, unsigned(buffer(char, 0)[0]) * 100000);
  )");
  expect_error(run(*object, {pages.bind_page(0, 0, "")}), Code::execution_failed,
               {"accessed memory that is not its own"});
  expect_good_kernel_runs();
}

TEST(ExecutorFaultTest, code_that_is_not_there) {
  const auto object = kernel("((void (*)())buffer(long, 0)[0])();");
  std::vector<long> target = {64};
  expect_error(run(*object, {bind(0, target)}), Code::execution_failed, {"address 0x40"});
}

TEST(ExecutorFaultTest, traps) {
  const auto object = kernel("if (place.index_in_group == 9) __builtin_trap();");
  expect_error(run(*object), Code::execution_failed, {"thread 9 of group (0, 0, 0)", "trap"});
}

TEST(ExecutorFaultTest, runs_out_of_stack) {
  // Where the stack ends: in the kernel, at a barrier, at an access that checked mode looks at.
  const auto recursion = [](const std::string& step) {
    return R"(
      struct Deeper {
        __attribute__((noinline)) static int down(volatile int* out, int depth) {
          volatile int frame[20];
          frame[depth % 20] = depth;
          )" +
           step + R"(
          return down(out, depth + 1) + frame[depth % 20];
        }
      };
      barrier(2);
      if (place.index_in_group == 33) Deeper::down(buffer(int, 0), 0);
    )";
  };
  std::vector<int> out(1);
  for (const std::string step : {"", "simd_barrier(2);", "*out = depth;"}) {
    for (const bool checked : {false, true}) {
      SCOPED_TRACE(step + (checked ? " checked" : ""));
      expect_error(run(*kernel(recursion(step), checked), {bind(0, out)}), Code::execution_failed,
                   {"thread 33 of group (0, 0, 0) ran out of stack (128 KiB)",
                    checked ? " at k.metal:" : "; run it checked to see where"});
      expect_good_kernel_runs();
    }
  }
}

// --- Division by zero, and what goes on afterwards ----------------------------------------------

constexpr const char* kDivide = R"(
  unsigned i = place.position_in_grid.x;
  buffer(int, 0)[i] = 1000 / buffer(int, 1)[i];
)";

TEST(ExecutorFaultTest, divides_by_zero) {
  if (!kDivisionTraps) GTEST_SKIP() << "this processor's division by zero is no fault";
  std::vector<int> out(5 * 64), by(5 * 64, 10);
  const std::vector<BufferBinding> buffers = {bind(0, out), bind(1, by)};
  by[2 * 64 + 7] = 0;
  expect_error(run(*kernel(kDivide), buffers), Code::execution_failed,
               {"thread 7 of group (2, 0, 0) divided an integer by zero"});
  expect_error(run(*kernel(kDivide, true), buffers), Code::execution_failed,
               {"thread 7 of group (2, 0, 0) divided an integer by zero", "at k.metal:3"});
  by[2 * 64 + 7] = 10;
  must(run(*kernel(kDivide), buffers));
  EXPECT_EQ(out, std::vector<int>(5 * 64, 100));
}

constexpr const char* kFaultEverywhere = R"(
  barrier(2);
  if (place.index_in_group == place.group_position.x % 64) *(volatile int*)16 = 1;
  barrier(2);
)";

Launch everywhere() {
  return {.kernel = "everywhere", .groups = {200, 1, 1}, .threads = {64, 1, 1}};
}

TEST(ExecutorFaultTest, several_threads_at_once) {
  const auto object = kernel(kFaultEverywhere);
  for (int round = 0; round < 20; ++round) {
    expect_error(cpu::msl::run(*object, everywhere(), ThreadsCall(4)), Code::execution_failed,
                 {"of group ("});
    expect_good_kernel_runs(4);
  }
}

TEST(ExecutorFaultTest, leaves_other_dispatches_alone) {
  const auto object = kernel(kFaultEverywhere);
  std::atomic<bool> over = false;
  std::thread faulting([&] {
    while (!over) {
      expect_error(cpu::msl::run(*object, everywhere(), ThreadsCall(2)), Code::execution_failed);
    }
  });
  for (int round = 0; round < 50; ++round) expect_good_kernel_runs(2);
  over = true;
  faulting.join();
}

TEST(ExecutorFaultTest, leaves_other_devices_alone) {
  constexpr const char* kText = R"(
    #include <metal_stdlib>
    kernel void fill(device int* out [[buffer(0)]], constant long& far [[buffer(1)]],
                     uint i [[thread_position_in_grid]]) {
      out[i] = int(i);
      if (i == 70) out[far] = 1;
    }
  )";
  static constexpr int kThreads = 6400;
  const auto fill = [](const Device& device, int64_t far) -> Result<void> {
    const Pipeline pipeline = must(device.registry().get_pipeline({.name = "fill"}));
    const Buffer out = must(device.empty(DType::i32, {kThreads}));
    Encoder encoder = device.encoder();
    const std::array<Argument, 2> arguments = {out, Argument::bytes(far)};
    must(encoder.dispatch(pipeline, arguments,
                          {.groups = {kThreads / 64, 1, 1}, .threads = {64, 1, 1}}));
    NORITE_TRY(encoder.submit_and_wait());
    EXPECT_EQ(test::contents<int>(out)[kThreads - 1], kThreads - 1);
    return {};
  };
  const Device good = test::cpu_device(), bad = test::cpu_device();
  must(good.registry().register_source("fill", kText));
  must(bad.registry().register_source("fill", kText));
  must(fill(good, 70));
  must(fill(bad, 70));
  std::thread faulting([&] {
    for (int round = 0; round < 20; ++round) {
      // No memory has such an address; Arm takes no notice of its uppermost byte.
      expect_error(fill(bad, int64_t{-1} << 48), Code::execution_failed, {"fill", "not its own"});
      must(fill(bad, 70));
    }
  });
  for (int round = 0; round < 50; ++round) must(fill(good, 70));
  faulting.join();
}

TEST(ExecutorFaultTest, a_thread_keeps_its_own_signal_stack) {
  std::thread([] {
    std::vector<std::byte> memory(size_t{64} << 10);
    stack_t own = {};
    own.ss_sp = memory.data();
    own.ss_size = memory.size();
    stack_t before = {}, after = {};
    ASSERT_EQ(::sigaltstack(&own, &before), 0);
    expect_error(run(*kernel(kFaultEverywhere)), Code::execution_failed);
    ASSERT_EQ(::sigaltstack(&before, &after), 0);
    EXPECT_EQ(after.ss_sp, own.ss_sp);
  }).join();
}

// --- Faults of others -------------------------------------------------------------------------
// Each in a process of its own, in which the application was there first: these tests must come
// before all others, as gtest has it for their name.

class ExecutorFaultDeathTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (handler_of_faults() != handler_at_start_) GTEST_SKIP() << "kernels have run here before";
    pages_.protect(0, PROT_NONE);
  }

  static void (*handler_of_faults())(int) {
    struct sigaction action = {};
    ::sigaction(SIGSEGV, nullptr, &action);
    return action.sa_handler;
  }

  void run_kernel() const { expect_error(run(*faulting_), Code::execution_failed); }
  static void fault() { *reinterpret_cast<volatile int*>(pages_.page(0)) = 1; }

  // An application that makes a page accessible when it is needed.
  static void install_repair(int flags) {
    struct sigaction action = {};
    action.sa_flags = SA_SIGINFO | flags;
    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask, SIGUSR1);
    action.sa_sigaction = [](int signal, siginfo_t* info, void*) {
      sigset_t blocked;
      ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
      if (signal != SIGSEGV || info->si_addr != pages_.page(0)) ::_exit(1);
      if (sigismember(&blocked, SIGUSR1) != 1) ::_exit(2);
      ::mprotect(info->si_addr, Pages::size(), PROT_READ | PROT_WRITE);
    };
    ::sigaction(SIGSEGV, &action, nullptr);
  }

  static inline const auto handler_at_start_ = handler_of_faults();
  static inline const Pages pages_{1};
  const std::shared_ptr<KernelObject> good_ = kernel("barrier(2);");
  const std::shared_ptr<KernelObject> faulting_ = kernel(kFaultEverywhere);
  const std::shared_ptr<KernelObject> endless_ = kernel("for (;;) poll();");
};

TEST_F(ExecutorFaultDeathTest, ends_the_process_as_ever) {
  const auto fault_after_kernel = [&] {
    run_kernel();
    fault();
  };
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  EXPECT_DEATH(fault_after_kernel(), "SEGV");
  return;
#endif
#endif
  EXPECT_EXIT(fault_after_kernel(), ::testing::KilledBySignal(SIGSEGV), "");
  EXPECT_EXIT(
      {
        run_kernel();
        ::raise(SIGTRAP);
      },
      ::testing::KilledBySignal(SIGTRAP), "");
}

TEST_F(ExecutorFaultDeathTest, reaches_the_handler_that_was_there) {
  // After kernels on this thread, however they ended, and on a thread that runs none.
  const auto fault_again_and_again = [&](int flags) {
    install_repair(flags);
    must(run(*good_));
    fault();
    for (const auto& object : {good_, faulting_, endless_}) {
      (void)cpu::msl::run(*object, {.kernel = "k", .time_limit = std::chrono::milliseconds(20)},
                          SameThreadCall());
      pages_.protect(0, PROT_NONE);
      fault();
      pages_.protect(0, PROT_NONE);
      std::thread(fault).join();
    }
    run_kernel();
    ::_exit(*pages_.page(0) == std::byte{1} ? 42 : 3);
  };
  for (const int flags : {0, SA_ONSTACK, SA_NODEFER}) {
    EXPECT_EXIT(fault_again_and_again(flags), ::testing::ExitedWithCode(42), "");
  }
}

TEST_F(ExecutorFaultDeathTest, signals_that_are_sent_are_not_the_kernels) {
  EXPECT_EXIT(
      {
        ::signal(SIGTRAP, SIG_IGN);
        ::signal(SIGFPE, [](int) { ::_exit(43); });
        run_kernel();
        ::raise(SIGTRAP);
        ::raise(SIGFPE);
      },
      ::testing::ExitedWithCode(43), "");
}

}  // namespace
}  // namespace norite
