# A build without it finds files that forget an include: release has it for tests alone, dev not at all.
option(NORITE_PRECOMPILE_HEADERS "Precompile the headers that most files include" OFF)

# norite_precompile(target [headers...]): reads what most files include once for the target, if that
# is wanted.
function(norite_precompile target)
  if(NORITE_PRECOMPILE_HEADERS)
    norite_always_precompile(${target} ${ARGN})
  endif()
endfunction()

function(norite_always_precompile target)
  target_precompile_headers(${target} PRIVATE
    <algorithm> <array> <cstdint> <functional> <map> <memory> <mutex> <optional> <span> <string>
    <string_view> <unordered_map> <variant> <vector> <fmt/format.h> <norite/device.hpp> ${ARGN})
  # Without a time in it, the same headers give the same bytes, and ccache finds what used them.
  target_compile_options(${target} PRIVATE
    $<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>)
endfunction()
