// SPDX-License-Identifier: MIT
#include "msl/preprocess.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/wave.hpp>
#include <boost/wave/cpplexer/cpp_lex_iterator.hpp>
#include <boost/wave/cpplexer/cpp_lex_token.hpp>
#include <cctype>
#include <exception>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>

#include "msl/preprocess_limits.hpp"

namespace norite::msl {

namespace {

namespace wave = boost::wave;

constexpr std::array<std::string_view, 22> kMetalHeaders = {
    "metal_stdlib",    "metal_simdgroup",   "metal_simdgroup_matrix",
    "metal_atomic",    "metal_math",        "metal_common",
    "metal_integer",   "metal_geometric",   "metal_compute",
    "metal_types",     "metal_relational",  "metal_matrix",
    "metal_quadgroup", "metal_pack",        "metal_numeric",
    "metal_limits",    "metal_type_traits", "metal_logging",
    "metal_array",     "metal_texture",     "metal_graphics",
    "metal_uniform"};

constexpr std::array<std::string_view, 6> kPredefined = {
    "__METAL__=1",       "__METAL_VERSION__=310",       "__METAL_MACOS__=1",
    "__HAVE_BFLOAT__=1", "__HAVE_SIMDGROUP_MATRIX__=1", "__HAVE_SIMDGROUP_REDUCTION__=1"};

/// Everything that one run of the preprocessor shares with Wave's hooks.
struct Session {
  const Source& source;
  std::map<std::string, Header, std::less<>> headers;  // by the name Wave knows them by
  std::vector<std::string> metal_headers = {};
  ExpansionBudget budget = {};
  bool self_contained = true;  // no header but Metal's own was looked for
};

// Wave builds its policies itself, so they find the session here.
Session* session = nullptr;

bool is_metal_header(std::string_view name) {
  return std::find(kMetalHeaders.begin(), kMetalHeaders.end(), name) != kMetalHeaders.end();
}

constexpr std::string_view kSpace = " \t\r\f\v";

/// Past lines that go on after a backslash.
size_t skip_splices(std::string_view text, size_t at) {
  while (true) {
    if (text.substr(at).starts_with("\\\n")) {
      at += 2;
    } else if (text.substr(at).starts_with("\\\r\n")) {
      at += 3;
    } else {
      return at;
    }
  }
}

/// Where the word "pragma" at `at` ends, spliced or not; npos where there is another.
size_t end_of_pragma(std::string_view text, size_t at) {
  for (const char letter : std::string_view("pragma")) {
    at = skip_splices(text, at);
    if (at >= text.size() || text[at] != letter) return std::string_view::npos;
    ++at;
  }
  return at;
}

/// Whether nothing but space is left of the line.
bool ends_line(std::string_view text, size_t at) {
  while (at < text.size() && kSpace.find(text[at]) != std::string_view::npos) {
    at = skip_splices(text, at + 1);
  }
  return text[at] == '\n';
}

// Ends in a newline, and has no #pragma without anything after it, on which Wave falls over:
// however the directive is spelt, a comment is enough.
std::string prepared(std::string text) {
  text += '\n';
  std::string result;
  size_t copied = 0;
  for (size_t at = text.find('p'); at != std::string::npos; at = text.find('p', at + 1)) {
    const size_t end = end_of_pragma(text, at);
    if (end == std::string::npos || !ends_line(text, skip_splices(text, end))) continue;
    result.append(text, copied, end - copied).append("/**/");
    copied = end;
  }
  return result.append(text, copied);
}

// Headers come from memory, never from the disk.
struct HeaderFromMemory {
  template <class IterationContext>
  class inner {
   public:
    template <class Position>
    static void init_iterators(IterationContext& context, const Position& position,
                               wave::language_support language) {
      using Iterator = typename IterationContext::iterator_type;
      const auto found = session->headers.find(std::string_view(context.filename.c_str()));
      context.instring = found == session->headers.end() ? std::string() : found->second.text;
      context.first = Iterator(context.instring.begin(), context.instring.end(),
                               wave::util::file_position_type(context.filename), language);
      context.last = Iterator();
      (void)position;
    }

   private:
    std::string instring;
  };
};

class Hooks : public wave::context_policies::default_preprocessing_hooks {
 public:
  template <class Context>
  bool locate_include_file(Context&, std::string& path, bool, const char*, std::string& dir_path,
                           std::string& native_name) {
    const std::string wanted = path;
    if (is_metal_header(wanted)) {
      const bool first = session->headers.try_emplace(wanted, Header{wanted, "\n"}).second;
      if (first) session->metal_headers.push_back(wanted);
      dir_path = native_name = wanted;
      return true;
    }
    session->self_contained = false;
    if (!session->source.find_header) return false;
    auto header = session->source.find_header(wanted, includers_.back());
    if (!header) return false;
    header->text = prepared(std::move(header->text));
    dir_path = native_name = header->name;
    session->budget.spend_text(header->text);
    session->headers.insert_or_assign(header->name, *std::move(header));
    return true;
  }
  template <class Context>
  void opened_include_file(const Context&, const std::string&, const std::string& name, bool) {
    includers_.push_back(name);
  }
  template <class Context>
  void returning_from_include_file(const Context&) {
    if (includers_.size() > 1) includers_.pop_back();
  }

  // A few lines of macros can ask for more tokens than any machine has memory for.
  template <class Context, class Container>
  void expanded_macro(const Context&, const Container& result) {
    session->budget.spend_expansion(result.size());
  }
  template <class Context, class Container>
  void rescanned_macro(const Context&, const Container& result) {
    session->budget.spend_expansion(result.size());
  }

  // Pragmas are for the compiler that sees the text later.
  template <class Context, class Container, class TokenT>
  bool interpret_pragma(const Context&, Container&, const TokenT&, const Container&,
                        const TokenT&) {
    return false;
  }
  // #warning must not end the run.
  template <class Context, class Container>
  bool found_warning_directive(const Context&, const Container&) {
    return true;
  }

 private:
  std::vector<std::string> includers_ = {session->source.name};
};

using LexToken = wave::cpplexer::lex_token<>;
using LexIterator = wave::cpplexer::lex_iterator<LexToken>;
using Context = wave::context<std::string::iterator, LexIterator, HeaderFromMemory, Hooks>;

/// Gathers Wave's tokens into ours.
class Collector {
 public:
  explicit Collector(std::string_view name) { text_.files.emplace_back(name); }

  void add(const LexToken& token) {
    const auto id = wave::token_id(token);
    if (id == wave::T_EOF || id == wave::T_EOI) return end_pragma();
    if (in_pragma_) return add_to_pragma(token);
    if (id == wave::T_PP_LINE || id == wave::T_PLACEMARKER) return;
    if (id == wave::T_PP_PRAGMA) {
      in_pragma_ = true;
      text_.tokens.push_back({TokenKind::pragma, "", location(token)});
      return;
    }
    std::string spelling(token.get_value().c_str(), token.get_value().size());
    if (is_space(spelling)) return;
    const Location where = location(token);
    if (continues_number(spelling, where)) {
      text_.tokens.back().text += spelling;
      return;
    }
    text_.tokens.push_back({kind_of(spelling), std::move(spelling), where});
    session->budget.spend_token();
  }

  Text take() { return std::move(text_); }
  [[nodiscard]] const Text& text() const { return text_; }

  Location location_of(std::string_view file, size_t line, size_t column) {
    return {file_index(file), static_cast<uint32_t>(line), static_cast<uint32_t>(column)};
  }

 private:
  static bool is_space(std::string_view spelling) {
    return spelling.empty() || std::isspace(static_cast<unsigned char>(spelling[0])) ||
           spelling.starts_with("//") || spelling.starts_with("/*");
  }
  static TokenKind kind_of(std::string_view spelling) {
    const unsigned char first = spelling[0];
    const size_t quote = spelling.find_first_of("\"'");
    const bool prefixed = quote != std::string_view::npos && quote <= 3 && std::isalpha(first);
    if (quote == 0 || prefixed) return TokenKind::string;
    if (std::isdigit(first) || (first == '.' && spelling.size() > 1 && std::isdigit(spelling[1]))) {
      return TokenKind::number;
    }
    if (std::isalpha(first) || first == '_') return TokenKind::identifier;
    return TokenKind::punctuation;
  }

  // Wave cuts 0x1p-3f and 12'000 into pieces, which touch.
  [[nodiscard]] bool continues_number(std::string_view spelling, const Location& where) const {
    if (text_.tokens.empty() || text_.tokens.back().kind != TokenKind::number) return false;
    const Token& last = text_.tokens.back();
    const bool touches = last.location.file == where.file && last.location.line == where.line &&
                         last.location.column + last.text.size() == where.column;
    if (!touches) return false;
    const char end = last.text.back();
    const bool hex = last.text.starts_with("0x") || last.text.starts_with("0X");
    if (hex && (end == 'p' || end == 'P')) return spelling == "-" || spelling == "+";
    const bool in_exponent = hex && (end == '-' || end == '+');
    return in_exponent || end == '\'' || spelling == "'";
  }

  Location location(const LexToken& token) {
    const auto& position = token.get_position();
    return location_of({position.get_file().c_str(), position.get_file().size()},
                       position.get_line(), position.get_column());
  }

  // Wave makes names absolute; the user knows them as they were given.
  [[nodiscard]] std::string_view as_given(std::string_view file) const {
    if (text_.files[0].starts_with('/') || !file.starts_with(folder_)) return file;
    return file.substr(folder_.size());
  }

  uint32_t file_index(std::string_view wave_name) {
    const std::string_view file = as_given(wave_name);
    if (text_.files[last_file_] != file) {
      const auto found = std::find(text_.files.begin(), text_.files.end(), file);
      last_file_ = static_cast<uint32_t>(found - text_.files.begin());
      if (found == text_.files.end()) text_.files.emplace_back(file);
    }
    return last_file_;
  }

  void add_to_pragma(const LexToken& token) {
    if (wave::token_id(token) == wave::T_NEWLINE || wave::token_id(token) == wave::T_CPPCOMMENT) {
      return end_pragma();
    }
    const bool comment = wave::token_id(token) == wave::T_CCOMMENT;
    text_.tokens.back().text += comment ? " " : token.get_value().c_str();
  }
  void end_pragma() {
    if (!std::exchange(in_pragma_, false)) return;
    std::string& pragma = text_.tokens.back().text;
    pragma.erase(0, pragma.find_first_not_of(kSpace));
    if (pragma.empty()) text_.tokens.pop_back();
  }

  Text text_;
  std::string folder_ = std::filesystem::current_path().string() + "/";
  uint32_t last_file_ = 0;
  bool in_pragma_ = false;
};

Result<void> check_macro(std::string_view name, std::string_view value) {
  const auto identifier = [](unsigned char c) { return std::isalnum(c) || c == '_'; };
  const bool fits = !name.empty() && !std::isdigit(static_cast<unsigned char>(name[0])) &&
                    std::all_of(name.begin(), name.end(), identifier);
  if (!fits) {
    return fail(Code::invalid_argument,
                fmt::format("macro \"{}\": a name of letters, digits and _ expected", name));
  }
  if (value.find_first_of("\n\r") != std::string_view::npos) {
    return fail(Code::invalid_argument,
                fmt::format("macro \"{}\": its value has more than one line", name));
  }
  return {};
}

Result<void> define_macros(Context& context, const Specialisation& macros) {
  for (const std::string_view macro : kPredefined) {
    context.add_macro_definition(std::string(macro), true);
  }
  for (const auto& [name, value] : macros) {
    NORITE_TRY(check_macro(name, value));
    context.add_macro_definition(fmt::format("{}={}", name, value));
  }
  return {};
}

void configure(Context& context) {
  auto language = wave::support_cpp2a;
  language = wave::enable_prefer_pp_numbers(language, true);
  language = wave::enable_emit_line_directives(language, false);
  language = wave::enable_emit_pragma_directives(language, true);
  language = wave::enable_no_character_validation(language, true);
  context.set_language(language);
  context.set_max_include_nesting_depth(64);
}

// _Pragma("words"), the operator, as the directive that it stands for.
void fold_pragma_operators(Tokens& tokens) {
  size_t kept = 0;
  for (size_t i = 0; i < tokens.size(); ++i, ++kept) {
    const bool folds = tokens[i].is("_Pragma") && i + 3 < tokens.size() && tokens[i + 1].is("(") &&
                       tokens[i + 2].text.starts_with('"') && tokens[i + 3].is(")");
    if (folds) {
      const std::string& words = tokens[i + 2].text;
      tokens[kept] = {TokenKind::pragma, words.substr(1, words.size() - 2), tokens[i].location};
      i += 3;
    } else if (kept != i) {
      tokens[kept] = std::move(tokens[i]);
    }
  }
  tokens.resize(kept);
}

/// Boost.Wave begins its messages with how bad they are; everything that is refused is an error.
std::string_view without_severity(std::string_view message) {
  for (const std::string_view severity : {"fatal error: ", "error: ", "warning: "}) {
    if (message.starts_with(severity)) return message.substr(severity.size());
  }
  return message;
}

Result<Text> run(const Source& source, const Specialisation& macros) {
  std::string text = prepared(source.text);
  Collector collector(source.name);
  const auto refuse_at = [&](std::string_view file, size_t line, size_t column,
                             std::string_view message) {
    const Location where = collector.location_of(file, line, column);
    return refuse(collector.text(), where, without_severity(message));
  };
  try {
    Context context(text.begin(), text.end(), source.name.c_str());
    configure(context);
    NORITE_TRY(define_macros(context, macros));
    const auto end = context.end();
    for (auto token = context.begin(); token != end; ++token) collector.add(*token);
    Text result = collector.take();
    fold_pragma_operators(result.tokens);
    result.metal_headers = session->metal_headers;
    return result;
  } catch (const ExpansionBudget::Exhausted& error) {
    return fail(Code::compile_failed, fmt::format("{}: {}", source.name, error.what()));
  } catch (const wave::cpp_exception& error) {
    return refuse_at(error.file_name(), error.line_no(), error.column_no(), error.description());
  } catch (const wave::cpplexer::lexing_exception& error) {
    return refuse_at(error.file_name(), error.line_no(), error.column_no(), error.description());
  } catch (const std::bad_alloc&) {  // not the text's fault: another time it may go well
    return fail(Code::out_of_memory, fmt::format("{}: no memory to read it", source.name));
  } catch (const std::exception& error) {
    return fail(Code::compile_failed, fmt::format("{}: {}", source.name, error.what()));
  }
}

/// Text that was preprocessed, and what came of it.
struct Preprocessed {
  std::string name, text;
  Specialisation macros;
  Text result;

  [[nodiscard]] bool is_of(const Source& source, const Specialisation& wanted) const {
    return name == source.name && text == source.text && macros == wanted;
  }
};

}  // namespace

Result<Text> preprocess(const Source& source, const Specialisation& macros) {
  NORITE_TRY(check_size(source.name, source.text));
  // Wave asks for the time of day in ways that threads must not do together.
  static std::mutex one_at_a_time;
  // Text is looked at before it is compiled: it comes twice in a row.
  static std::optional<Preprocessed> last;
  const std::scoped_lock lock(one_at_a_time);
  if (last && last->is_of(source, macros)) return last->result;
  Session here{source, {}};
  session = &here;
  auto result = run(source, macros);
  session = nullptr;
  if (result && here.self_contained) last = {source.name, source.text, macros, *result};
  return result;
}

}  // namespace norite::msl
