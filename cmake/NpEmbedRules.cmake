# The table of rule packs in the program (advisor/engine/rules/rule_packs.h); without files it is empty.
#
#   cmake -DOUT=rule_packs.c -DFILES="a.json;b.json" -P NpEmbedRules.cmake
set(texts "")
set(rows "")
foreach(file ${FILES})
  get_filename_component(name "${file}" NAME)
  string(REGEX REPLACE "[^A-Za-z0-9]" "_" symbol "${name}")
  file(READ "${file}" hex HEX)
  string(LENGTH "${hex}" size)
  math(EXPR size "${size} / 2")
  string(REGEX REPLACE "(................................)" "\\1\n" lines "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${lines}")
  string(APPEND texts "static const char ${symbol}[] = {${bytes}0};\n")
  string(APPEND rows "\t{ \"${name}\", ${symbol}, ${size} },\n")
endforeach()
file(WRITE "${OUT}" "/* Made by cmake/NpEmbedRules.cmake. */\n#include \"advisor/engine/rules/rule_packs.h\"\n\n${texts}\n"
  "const struct adv_rule_pack adv_rule_packs[] = {\n${rows}\t{ NULL, NULL, 0 },\n};\n")
