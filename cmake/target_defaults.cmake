# norite_target_defaults(target): what every target of this project is compiled with. Nothing here
# reaches a consumer but the language level that the public headers need.
function(norite_target_defaults target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES
    CXX_EXTENSIONS OFF
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
    $<$<BOOL:${NORITE_WERROR}>:-Werror>)
endfunction()
