# np_literal(<variable> <file>): its text as literals of C, much faster to make and to compile than a list of its bytes. They are
# longer than compilers must take: what includes them ignores -Woverlength-strings.
function(np_literal var file)
  file(READ "${file}" text)
  string(REPLACE "\\" "\\\\" text "${text}")
  string(REPLACE "\"" "\\\"" text "${text}")
  string(REPLACE "?" "\\?" text "${text}")
  string(REPLACE "\n" "\\n\"\n\"" text "${text}")
  set(${var} "\"${text}\"" PARENT_SCOPE)
endfunction()
