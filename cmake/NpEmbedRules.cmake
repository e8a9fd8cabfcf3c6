# The table of rule packs in the program (advisor/engine/rules/rule_packs.h); without files it is empty.
#
#   cmake -DOUT=rule_packs.c -DFILES="a.json;b.json" -P NpEmbedRules.cmake
include(${CMAKE_CURRENT_LIST_DIR}/NpLiteral.cmake)
set(texts "")
set(rows "")
foreach(file ${FILES})
  get_filename_component(name "${file}" NAME)
  string(REGEX REPLACE "[^A-Za-z0-9]" "_" symbol "${name}")
  np_literal(text "${file}")
  file(SIZE "${file}" size)
  string(APPEND texts "static const char ${symbol}[] = ${text};\n_Static_assert(sizeof(${symbol}) == ${size} + 1, \"${name}\");\n")
  string(APPEND rows "\t{ \"${name}\", ${symbol}, ${size} },\n")
endforeach()
file(WRITE "${OUT}" "/* Made by cmake/NpEmbedRules.cmake. */\n#include \"advisor/engine/rules/rule_packs.h\"\n\n"
  "#pragma GCC diagnostic ignored \"-Woverlength-strings\"\n${texts}\n"
  "const struct adv_rule_pack adv_rule_packs[] = {\n${rows}\t{ NULL, NULL, 0 },\n};\n")
