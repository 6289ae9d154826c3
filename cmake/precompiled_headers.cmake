# A build without them finds files that forget an include: release has none for the library, dev none at
# all.
option(NORITE_PRECOMPILE_HEADERS "Precompile the headers that most files of the library include" OFF)
option(NORITE_PRECOMPILE_PROGRAM_HEADERS
  "Precompile the headers that most files of the command, the case table and the tests include"
  ${NORITE_PRECOMPILE_HEADERS})

# norite_precompile(target [headers...]): reads what most files include once for the target.
function(norite_precompile target)
  target_precompile_headers(${target} PRIVATE
    <algorithm> <array> <cstdint> <functional> <map> <memory> <mutex> <optional> <span> <string>
    <string_view> <unordered_map> <variant> <vector> <fmt/format.h> <norite/device.hpp> ${ARGN})
  # Without a time in it, the same headers give the same bytes, and ccache finds what used them.
  target_compile_options(${target} PRIVATE
    $<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>)
endfunction()

# The same for a program's part, if that is wanted.
function(norite_precompile_program target)
  if(NORITE_PRECOMPILE_PROGRAM_HEADERS)
    norite_precompile(${target} ${ARGN})
  endif()
endfunction()
