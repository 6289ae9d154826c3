// SPDX-License-Identifier: MIT
// CUDA only: sums that groups share while they run. A kernel that waits for other groups says
// [[cooperative(N)]]: all of its groups run at the same time, at least N on each multiprocessor, or
// none does.
//
// The memory is the same for all such kernels, which run one after the other, and nothing clears it
// between them: a sum is there when it bears the number of the run. All is zero before the first.
#pragma once

#include <metal_stdlib>

#include "cuda/params.h"

using namespace metal;

/// A sum, and below it the number of the run that it is of, in one access of 64 bits: neither needs
/// a fence.
struct SharedSum {
  ulong word;
};

METAL_FUNC ulong shared_word(float value, uint run) {
  return ulong(as_type<uint>(value)) << 32 | run;
}

METAL_FUNC float shared_value(ulong word) { return as_type<float>(uint(word >> 32)); }

/// The memory that a kernel's groups share, as kernels/cuda/params.h lays it out.
struct SharedMemory {
  device SharedSum* head;  // runs, and groups of this one that have ended

  /// The number of this run. Four billion runs later it comes again, when only a sum that nothing
  /// has written in between could be taken for one of this run.
  uint run() const {
    uint runs = 0;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(runs) : "l"(head) : "memory");
    return runs == 0xffffffff ? 1 : runs + 1;
  }

  device SharedSum* sums() const { return head + kSharedSums; }
  device SharedSum* counter(uint i) const { return head + (1 + i) * kSharedSpan; }

  /// For one thread of each group, when the group has taken its last ticket and published its last
  /// sum. The last one leaves the counters that were used at zero.
  void end(uint run, uint groups, uint counters) const {
    device uint* words = reinterpret_cast<device uint*>(head);
    uint ended = 0;
    asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;"
                 : "=r"(ended)
                 : "l"(words + 1)
                 : "memory");
    if (ended + 1 < groups) return;
    for (uint i = 0; i < counters; ++i) counter(i)->word = 0;
    words[0] = run;
    words[1] = 0;
  }
};

METAL_FUNC void publish(device SharedSum* to, float value, uint run) {
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;"
               :
               : "l"(to), "l"(shared_word(value, run))
               : "memory");
}

/// What is there now, of this run or not. A thread goes on until it looks at the answer.
METAL_FUNC ulong ask(device const SharedSum* from) {
  ulong word = 0;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(from) : "memory");
  return word;
}

/// `answer`: to an earlier question, or 0, which is no run's.
METAL_FUNC float await(device const SharedSum* from, uint run, ulong answer) {
  while (uint(answer) != run) answer = ask(from);
  return shared_value(answer);
}

/// The number of those who came before in this run.
METAL_FUNC uint take_ticket(device SharedSum* counter) {
  uint ticket = 0;
  asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], 1;"
               : "=r"(ticket)
               : "l"(counter)
               : "memory");
  return ticket;
}

/// Two sums that lie side by side.
METAL_FUNC void publish(device SharedSum* to, float2 values, uint run) {
  asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};"
               :
               : "l"(to), "l"(shared_word(values.x, run)), "l"(shared_word(values.y, run))
               : "memory");
}

struct SharedPair {
  ulong x, y;
};

/// As ask and await do for one.
METAL_FUNC SharedPair ask_pair(device const SharedSum* from) {
  SharedPair pair;
  asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];"
               : "=l"(pair.x), "=l"(pair.y)
               : "l"(from)
               : "memory");
  return pair;
}

METAL_FUNC float2 await_pair(device const SharedSum* from, uint run, SharedPair answer) {
  while (uint(answer.x) != run || uint(answer.y) != run) answer = ask_pair(from);
  return float2(shared_value(answer.x), shared_value(answer.y));
}
