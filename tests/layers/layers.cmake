# Checks every #include of the project against the table of layers, and the length of every file.
# Run as: cmake -DROOT=<source folder> -P layers.cmake
cmake_minimum_required(VERSION 3.25)

set(max_lines 600)

# Headers of other projects that only some layers may use. Anything else in angle brackets is the
# standard library's or the system's, free for all.
set(foreign "(hwy|tbb|oneapi|fmt|nlohmann|CLI|tl|gtest|rapidcheck|boost)/.*|xxhash[.]h")

# may_include(path header...): what files under `path` may include of this project and of others, as
# regular expressions. The first path that a file lies under counts.
set(paths "")
function(may_include path)
  list(APPEND paths ${path})
  list(JOIN ARGN "|" allowed)
  set(paths ${paths} PARENT_SCOPE)
  set(allowed_${path} "^(${allowed})$" PARENT_SCOPE)
endfunction()

set(core_api norite/[a-z0-9_]+[.]hpp)
set(api norite/.*)
set(params [a-z]+/params[.]h common/[a-z]+[.]h)
may_include(include/norite/norite.hpp ${api})
may_include(include/norite/ops ${api})
may_include(include/norite ${core_api} tl/expected[.]hpp)
may_include(kernels ${params} [a-z]+/[a-z_]+[.]h)
may_include(src/core ${core_api} core/.* fmt/.*)
may_include(src/ops ${api} core/.* ops/.* ${params} fmt/.*)
may_include(src/msl/shim shim/.*)
may_include(src/msl ${core_api} core/.* msl/.* fmt/.* boost/wave.*)
may_include(src/backends/cpu/msl
            ${core_api} core/.* msl/.* backends/cpu/.* fmt/.* boost/context/.* xxhash[.]h)
may_include(src/backends/cpu
            ${core_api} core/.* backends/cpu/.* ${params} hwy/.* oneapi/tbb/.* fmt/.*)
may_include(src/backends/null ${core_api} core/.* msl/.* backends/null/.* fmt/.*)
may_include(src/backends/all.cpp core/.* backends/.*)
may_include(src/io ${core_api} io/.* fmt/.* nlohmann/.*)
may_include(src/cases ${api} cases/.* fmt/.* nlohmann/.*)
may_include(src/cli ${api} cases/.* cli/.* fmt/.* nlohmann/.* CLI/.*)

set(errors "")

function(check_includes file)
  set(layer "")
  foreach(path IN LISTS paths)
    cmake_path(IS_PREFIX path ${file} inside)
    if(inside)
      set(layer ${path})
      break()
    endif()
  endforeach()
  if(NOT layer)
    set(errors "${errors}\n  ${file}: no row of the table of layers covers it" PARENT_SCOPE)
    return()
  endif()

  file(STRINGS ${ROOT}/${file} lines REGEX "^[ \t]*#[ \t]*include[ \t]*[<\"]")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^[^<\"]*([<\"])([^>\"]*).*$" "\\1;\\2" parts "${line}")
    list(POP_FRONT parts bracket header)
    if((bracket STREQUAL "\"" OR header MATCHES "^(${foreign}|${api})$")
       AND NOT header MATCHES "${allowed_${layer}}")
      string(APPEND errors "\n  ${file}: ${layer} may not include ${header}")
    endif()
  endforeach()
  set(errors "${errors}" PARENT_SCOPE)
endfunction()

function(check_length file)
  file(READ ${ROOT}/${file} text)
  string(REGEX REPLACE "[^\n]" "" newlines "${text}")
  string(LENGTH "${newlines}" lines)
  if(lines GREATER max_lines)
    set(errors "${errors}\n  ${file}: ${lines} lines, at most ${max_lines} expected" PARENT_SCOPE)
  endif()
endfunction()

file(GLOB_RECURSE sources RELATIVE ${ROOT} ${ROOT}/include/* ${ROOT}/src/* ${ROOT}/kernels/*)
foreach(file IN LISTS sources)
  check_includes(${file})
endforeach()
file(GLOB_RECURSE tests RELATIVE ${ROOT} ${ROOT}/tests/*.cpp ${ROOT}/tests/*.hpp)
foreach(file IN LISTS sources tests)
  check_length(${file})
endforeach()
if(errors)
  message(FATAL_ERROR "Layers are broken:${errors}")
endif()
