// SPDX-License-Identifier: MIT
// From statements to instructions: names become places in a warp's registers, numbers become
// registers that never change.
#include <algorithm>
#include <cstring>
#include <set>
#include <stdexcept>

#include "cuda/ptx/operations.hpp"

namespace norite::ptx {

namespace {

size_t rounded_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

void do_nothing(Warp&, const Instruction&, Mask) {}

class Compiler {
 public:
  explicit Compiler(Module module) : module_(std::move(module)) {}

  std::shared_ptr<const Kernel> compile() {
    kernel_->entry = module_.entry;
    kernel_->max_threads = module_.max_threads;
    place_parameters();
    place_variables();
    place_registers();
    for (const Statement& statement : module_.statements) {
      statement_ = &statement;
      kernel_->code.push_back(instruction_of());
    }
    Instruction& end = kernel_->code.emplace_back();
    end.control = Control::exit;
    kernel_->file_bytes = kernel_->constants_begin + kernel_->constants.size();
    return kernel_;
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw std::runtime_error("PTX line " + std::to_string(statement_->line) + ": " +
                             statement_->name() + ": " + why);
  }

  void place_parameters() {
    size_t at = 0;
    for (const Variable& parameter : module_.parameters) {
      at = rounded_up(at, parameter.alignment);
      symbols_[parameter.name] = at;
      kernel_->parameters.push_back(at);
      kernel_->parameter_bytes.push_back(parameter.bytes);
      at += parameter.bytes;
    }
    kernel_->all_parameter_bytes = at;
  }

  void place_variables() {
    for (const Variable& variable : module_.variables) {
      if (variable.space == "global" || variable.space == "const") {
        auto& words = kernel_->globals[variable.name];
        words.resize(variable.bytes / sizeof(uint64_t) + 1);
        std::memcpy(words.data(), variable.contents.data(), variable.contents.size());
        kernel_->global_bytes[variable.name] = variable.bytes;
        symbols_[variable.name] = reinterpret_cast<uint64_t>(words.data());
      } else if (variable.space == "shared" && !variable.sized_by_launch) {
        kernel_->shared_bytes = rounded_up(kernel_->shared_bytes, variable.alignment);
        symbols_[variable.name] = kernel_->shared_bytes;
        kernel_->shared_bytes += variable.bytes;
      } else if (variable.space != "shared") {
        throw std::runtime_error("PTX: variables in ." + variable.space + " are not known");
      }
    }
    kernel_->shared_bytes = rounded_up(kernel_->shared_bytes, 16);
    for (const Variable& variable : module_.variables) {
      if (variable.sized_by_launch) symbols_[variable.name] = kernel_->shared_bytes;
    }
  }

  /// The widest first, so that all of them are aligned.
  void place_registers() {
    size_t at = 0;
    for (const size_t bytes : {8, 4, 2, 1, 0}) {
      for (const auto& [name, own] : module_.registers) {
        if (own != bytes) continue;
        places_[name] = static_cast<uint32_t>(at);
        at += bytes == 0 ? sizeof(Mask) : bytes * kLanes;
      }
    }
    kernel_->constants_begin = rounded_up(at, sizeof(uint64_t));
  }

  /// A register that every launch finds with the same value in all lanes.
  uint32_t constant(uint64_t bits, size_t bytes) {
    const bool predicate = bytes == 0;
    if (predicate) {
      bits = bits != 0 ? kAll : 0;
      bytes = sizeof(Mask);
    }
    if (bytes < 8) bits &= (uint64_t{1} << (8 * bytes)) - 1;
    const auto [found, is_new] =
        constants_.try_emplace({bits, predicate ? 0 : bytes}, next_constant());
    for (unsigned lane = 0; is_new && lane < (predicate ? 1 : kLanes); ++lane) {
      const auto* const from = reinterpret_cast<const uint8_t*>(&bits);
      kernel_->constants.insert(kernel_->constants.end(), from, from + bytes);
    }
    return found->second;
  }
  /// Where the next one begins, aligned for all of them.
  uint32_t next_constant() {
    kernel_->constants.resize(rounded_up(kernel_->constants.size(), sizeof(uint64_t)));
    return static_cast<uint32_t>(kernel_->constants_begin + kernel_->constants.size());
  }

  /// A register that nothing reads.
  uint32_t nothing(size_t bytes) {
    const uint32_t at = next_constant();
    kernel_->constants.resize(kernel_->constants.size() + kLanes * bytes);
    return at;
  }

  /// "%tid.x" and its kin.
  uint32_t special(const std::string& name) {
    const auto [found, is_new] = specials_.try_emplace(name, next_constant());
    if (is_new) {
      kernel_->constants.resize(kernel_->constants.size() + kLanes * sizeof(uint32_t));
      kernel_->specials.push_back(special_of(name, found->second));
    }
    return found->second;
  }
  [[nodiscard]] Special special_of(const std::string& name, uint32_t at) const {
    using Kind = Special::Kind;
    if (name == "%laneid") return {Kind::lane, 0, at};
    static const std::map<std::string, Kind> kinds = {{"%tid", Kind::thread},
                                                      {"%ntid", Kind::threads},
                                                      {"%ctaid", Kind::group},
                                                      {"%nctaid", Kind::groups}};
    const auto found = kinds.find(name.substr(0, name.find('.')));
    const size_t axis = std::string_view("xyz").find(name.back());
    if (found == kinds.end() || axis > 2) refuse(name + " is not known");
    return {found->second, static_cast<uint8_t>(axis), at};
  }

  [[nodiscard]] size_t register_bytes(const Operand& operand) const {
    const auto found = module_.registers.find(operand.name);
    if (operand.kind != Operand::Kind::name || found == module_.registers.end()) {
      refuse("expected a register, not \"" + operand.name + "\"");
    }
    return found->second;
  }

  uint32_t place(const Operand& operand, size_t bytes) {
    const size_t own = register_bytes(operand);
    if (own != bytes) {
      refuse(operand.name + " has " + std::to_string(own) + " bytes, not " + std::to_string(bytes));
    }
    return places_.at(operand.name);
  }

  uint32_t source(const Operand& operand, size_t bytes) {
    if (operand.negated) refuse("!" + operand.name + " is not known");
    if (operand.kind == Operand::Kind::number) return constant(operand.bits, bytes);
    if (const auto found = symbols_.find(operand.name); found != symbols_.end()) {
      return constant(found->second, bytes);
    }
    if (operand.name.starts_with("%") && !module_.registers.contains(operand.name)) {
      if (bytes != 4) refuse(operand.name + " has 4 bytes");
      return special(operand.name);
    }
    return place(operand, bytes);
  }

  /// The register of an address, and how wide it is.
  uint32_t address(const Operand& operand, uint8_t& bytes, int64_t& offset) {
    if (operand.kind != Operand::Kind::address) refuse("expected an address");
    const Operand& base = operand.parts[0];
    offset = static_cast<int64_t>(operand.parts[1].bits);
    const bool is_register = module_.registers.contains(base.name);
    bytes = static_cast<uint8_t>(is_register ? register_bytes(base) : 8);
    return source(base, bytes);
  }

  Instruction instruction_of() {
    const Statement& one = *statement_;
    Instruction instruction;
    instruction.line = one.line;
    if (!one.guard.empty()) {
      instruction.guarded = true;
      instruction.guard_negated = one.guard_negated;
      instruction.guard = places_.at(one.guard);
    }
    if (!compile_control(instruction) && !compile_access(instruction) &&
        !compile_packing(instruction)) {
      compile_operation(instruction);
    }
    return instruction;
  }

  bool compile_control(Instruction& instruction) {
    const Statement& one = *statement_;
    const std::string& name = one.opcode[0];
    if (name == "bra") {
      instruction.control = Control::branch;
      const auto found = module_.labels.find(one.operands.at(0).name);
      if (found == module_.labels.end()) refuse("no label " + one.operands.at(0).name);
      instruction.target = static_cast<uint32_t>(found->second);
    } else if (name == "ret" || name == "exit") {
      instruction.control = Control::exit;
    } else if (name == "bar" && one.has("warp")) {
      instruction.control = Control::meeting;
      instruction.mask = source(one.operands.at(0), 4);
    } else if (name == "bar") {
      if (!one.has("sync") || one.operands.size() != 1 ||
          one.operands[0].kind != Operand::Kind::number || one.operands[0].bits != 0) {
        refuse("of barriers, bar.sync 0 alone is known");
      }
      instruction.control = Control::barrier;
    } else if (name == "shfl" || name == "vote") {
      compile_meeting(instruction);
    } else if (name == "griddepcontrol" || name == "membar" || name == "fence") {
      instruction.run = &do_nothing;  // all is in order
    } else {
      return false;
    }
    if (instruction.guarded && instruction.control != Control::none &&
        instruction.control != Control::branch && instruction.control != Control::exit) {
      refuse("of some lanes alone is not known");
    }
    return true;
  }

  /// A shuffle may have a second result: whether the value came from another lane.
  void compile_meeting(Instruction& instruction) {
    const Statement& one = *statement_;
    const bool votes = one.opcode[0] == "vote";
    std::vector<Operand> operands = one.operands;
    instruction.control = Control::meeting;
    instruction.run = meeting(one);
    if (!votes && operands.size() == 6) {
      instruction.at[4] = place(operands[1], 0);
      instruction.count = 2;
      operands.erase(operands.begin() + 1);
    }
    const size_t last = votes ? 2 : 4;
    if (instruction.run == nullptr || operands.size() != 1 + last) refuse("not known");
    instruction.at[0] = place(operands[0], 4);
    for (size_t i = 1; i < last; ++i) instruction.at[i] = source(operands[i], votes ? 0 : 4);
    instruction.mask = source(operands[last], 4);
  }

  bool compile_access(Instruction& instruction) {
    const Statement& one = *statement_;
    const std::string& name = one.opcode[0];
    if (name != "ld" && name != "st" && name != "atom" && name != "red" && name != "cp")
      return false;
    instruction.space = one.has("global") || one.has("const") ? Space::global
                        : one.has("shared")                   ? Space::shared
                        : one.has("param")                    ? Space::param
                                                              : Space::global;  // generic
    instruction.atomic = one.has("relaxed") || one.has("acquire") || one.has("release") ||
                         one.has("volatile") || name == "atom" || name == "red";
    if (name == "cp") {
      compile_copy(instruction);
    } else if (name == "atom" || name == "red") {
      compile_atomic(instruction);
    } else {
      compile_load_or_store(instruction);
    }
    if (instruction.run == nullptr) refuse("not known");
    return true;
  }

  void compile_load_or_store(Instruction& instruction) {
    const Statement& one = *statement_;
    const bool loads = one.opcode[0] == "ld";
    const Operand& data = one.operands.at(loads ? 0 : 1);
    instruction.at[0] =
        address(one.operands.at(loads ? 1 : 0), instruction.address_bytes, instruction.offset);
    const std::vector<Operand> values =
        data.kind == Operand::Kind::list ? data.parts : std::vector{data};
    const size_t count = one.has("v2") ? 2 : one.has("v4") ? 4 : one.has("v8") ? 8 : 1;
    if (values.size() != count) refuse("expected " + std::to_string(count) + " values");
    size_t bytes = bytes_of_type(one.opcode.back());
    for (const Operand& value : values) {
      if (value.kind == Operand::Kind::name && module_.registers.contains(value.name)) {
        bytes = register_bytes(value);
      }
    }
    for (size_t i = 0; i < count; ++i) {
      instruction.at[1 + i] = loads ? place(values[i], bytes) : source(values[i], bytes);
    }
    instruction.count = static_cast<uint8_t>(count);
    instruction.run = access(one, bytes);
  }

  void compile_atomic(Instruction& instruction) {
    const Statement& one = *statement_;
    const size_t bytes = bytes_of_type(one.opcode.back());
    std::vector<Operand> operands = one.operands;
    if (one.opcode[0] == "red") {  // has no result
      operands.insert(operands.begin(), Operand{.name = "_", .parts = {}});
    }
    const bool ignored = operands.at(0).name == "_";
    instruction.at[0] = ignored ? nothing(bytes) : place(operands[0], bytes);
    instruction.at[1] = address(operands.at(1), instruction.address_bytes, instruction.offset);
    for (size_t i = 2; i < operands.size(); ++i) {
      instruction.at[i] = source(operands[i], bytes);
    }
    instruction.count = static_cast<uint8_t>(operands.size() - 1);
    instruction.run = access(one, bytes);
  }

  void compile_copy(Instruction& instruction) {
    const Statement& one = *statement_;
    instruction.run = access(one, 0);
    if (one.has("wait_group")) {
      instruction.offset = static_cast<int64_t>(one.operands.at(0).bits);
    } else if (!one.has("commit_group")) {
      instruction.at[0] =
          address(one.operands.at(0), instruction.address_bytes, instruction.offset);
      uint8_t source_bytes = 8;
      instruction.at[1] = address(one.operands.at(1), source_bytes, instruction.source_offset);
      const bool hinted = one.has("L2::cache_hint");
      if (source_bytes != 8 || one.operands.size() != (hinted ? 4 : 3)) refuse("not known so");
      instruction.count = static_cast<uint8_t>(one.operands[2].bits);
    }
  }

  bool compile_packing(Instruction& instruction) {
    const Statement& one = *statement_;
    if (one.opcode[0] != "mov" || one.operands.size() != 2) return false;
    const Operand &to = one.operands[0], &from = one.operands[1];
    const bool unpack = to.kind == Operand::Kind::list;
    if (!unpack && from.kind != Operand::Kind::list) return false;
    const std::vector<Operand>& parts = unpack ? to.parts : from.parts;
    const size_t bytes = bytes_of_type(one.opcode.back()), part_bytes = bytes / parts.size();
    instruction.run = packing(bytes, part_bytes, unpack);
    if (instruction.run == nullptr) refuse("not known");
    size_t at = 0;
    if (!unpack) instruction.at[at++] = place(to, bytes);
    for (const Operand& part : parts) {
      const bool ignored = unpack && part.name == "_";
      instruction.at[at++] = ignored  ? nothing(part_bytes)
                             : unpack ? place(part, part_bytes)
                                      : source(part, part_bytes);
    }
    if (unpack) instruction.at[at] = source(from, bytes);
    return true;
  }

  /// What says how an operation rounds or which part of it is wanted; other words change it in ways
  /// that no handler knows.
  void check_modifiers() const {
    static const std::set<std::string, std::less<>> known = {
        "rn",  "rz",     "rm",   "rni", "rzi", "rmi",  "rpi", "sat",
        "ftz", "approx", "full", "lo",  "hi",  "wide", "to",  "global"};
    const Statement& one = *statement_;
    for (size_t i = 1; i < one.opcode.size(); ++i) {
      const std::string& word = one.opcode[i];
      const bool compares = one.opcode[0] == "setp" && i == 1;
      if (!compares && !is_type(word) && !known.contains(word))
        refuse("." + word + " is not known");
    }
    if (one.has("sat") && one.opcode[0] != "cvt") refuse(".sat is not known");
  }

  void compile_operation(Instruction& instruction) {
    const Statement& one = *statement_;
    check_modifiers();
    Operation operation;
    for (auto* const family : {&predicate_operation, &conversion, &float_arithmetic, &arithmetic}) {
      if (operation.run == nullptr) operation = family(one);
    }
    if (operation.run == nullptr) refuse("not known");
    if (one.operands.size() != operation.bytes.size()) {
      refuse("expected " + std::to_string(operation.bytes.size()) + " operands");
    }
    instruction.run = operation.run;
    instruction.at[0] = place(one.operands[0], operation.bytes[0]);
    for (size_t i = 1; i < operation.bytes.size(); ++i) {
      instruction.at[i] = source(one.operands[i], operation.bytes[i]);
    }
  }

  Module module_;
  std::shared_ptr<Kernel> kernel_ = std::make_shared<Kernel>();
  const Statement* statement_ = nullptr;
  std::map<std::string, uint32_t> places_;
  std::map<std::string, uint64_t> symbols_;
  std::map<std::string, uint32_t> specials_;
  std::map<std::pair<uint64_t, size_t>, uint32_t> constants_;
};

}  // namespace

std::shared_ptr<const Kernel> compile(std::string_view text) {
  return Compiler(parse(text)).compile();
}

}  // namespace norite::ptx
