# Files as C arrays, with the SHA-256 that a Content-Security-Policy names them by.
#
#   cmake -DOUT=assets.c -DFILES="page.css;page.js" -P NpEmbed.cmake
#
# page.css becomes page_css[], page_css_size and page_css_sha256 (base64).

# np_base64(<variable> <hexadecimal digits>)
function(np_base64 var hex)
  set(alphabet "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
  string(LENGTH "${hex}" digits)
  set(text "")
  set(at 0)
  while(at LESS digits)
    math(EXPR left "${digits} - ${at}")
    string(SUBSTRING "${hex}000000" ${at} 6 six)
    math(EXPR word "0x${six}")
    foreach(shift 18 12 6 0)
      math(EXPR index "(${word} >> ${shift}) & 63")
      string(SUBSTRING "${alphabet}" ${index} 1 letter)
      string(APPEND text "${letter}")
    endforeach()
    if(left LESS 6)
      # Two or four digits are left: as many bytes less one, and padding.
      string(LENGTH "${text}" length)
      math(EXPR missing "(6 - ${left}) / 2")
      math(EXPR keep "${length} - ${missing}")
      string(SUBSTRING "${text}" 0 ${keep} text)
      string(REPEAT "=" ${missing} padding)
      string(APPEND text "${padding}")
    endif()
    math(EXPR at "${at} + 6")
  endwhile()
  set(${var} "${text}" PARENT_SCOPE)
endfunction()

include(${CMAKE_CURRENT_LIST_DIR}/NpLiteral.cmake)
set(source "/* Made by cmake/NpEmbed.cmake. */\n#include <stddef.h>\n#pragma GCC diagnostic ignored \"-Woverlength-strings\"\n")
foreach(file ${FILES})
  get_filename_component(name "${file}" NAME)
  string(REGEX REPLACE "[^A-Za-z0-9]" "_" symbol "${name}")
  np_literal(text "${file}")
  file(SIZE "${file}" size)
  file(SHA256 "${file}" sha)
  np_base64(sha64 "${sha}")
  string(APPEND source
    "extern const char ${symbol}[];\nextern const size_t ${symbol}_size;\nextern const char ${symbol}_sha256[];\n"
    "const char ${symbol}[] = ${text};\n_Static_assert(sizeof(${symbol}) == ${size} + 1, \"${name}\");\nconst size_t ${symbol}_size = ${size};\n"
    "const char ${symbol}_sha256[] = \"${sha64}\";\n")
endforeach()
file(WRITE "${OUT}" "${source}")
