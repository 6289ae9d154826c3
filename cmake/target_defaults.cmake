# norite_target_defaults(target): what every target of this project is compiled with. Nothing here
# reaches a consumer but the language level that the public headers need.
function(norite_target_defaults target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  # What tests load while they run has a library of its own inside, which stays apart from theirs.
  get_target_property(type ${target} TYPE)
  if(NORITE_TESTS_SHARE_LIBRARY AND NOT type STREQUAL "MODULE_LIBRARY")
    set(visibility default)
  else()
    set(visibility hidden)
  endif()
  set_target_properties(${target} PROPERTIES
    CXX_EXTENSIONS OFF
    CXX_VISIBILITY_PRESET ${visibility}
    VISIBILITY_INLINES_HIDDEN ON)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
    $<$<BOOL:${NORITE_WERROR}>:-Werror>)
endfunction()
