# What a build does not have because something was not found: said together, as the last lines of configuring.

# np_left_out(<words>): what, and why
function(np_left_out words)
  set_property(GLOBAL APPEND PROPERTY NP_LEFT_OUT "${words}")
endfunction()

function(np_say_left_out)
  get_property(left GLOBAL PROPERTY NP_LEFT_OUT)
  foreach(words IN LISTS left)
    message(STATUS "Left out: ${words}")
  endforeach()
endfunction()
