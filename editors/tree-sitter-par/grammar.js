// A grammar of Par for editors: declarations, brackets and tokens. It accepts unfinished programs; what is wrong in them is
// for `par lsp` to say.

const NAME = /[A-Za-z_\u0080-\u{10ffff}][A-Za-z0-9_'\u0080-\u{10ffff}]*/u;

module.exports = grammar({
  name: "par",

  extras: ($) => [/[\s\uFEFF]/, $.comment],

  word: ($) => $.name,

  rules: {
    source_file: ($) => seq(repeat($._piece), repeat($.declaration)),

    // A declaration ends where the next one begins.
    declaration: ($) => prec.right(seq($._head, repeat($._piece))),

    _head: ($) =>
      prec.right(choice(
        seq(choice("def", "entry", "val"), optional(field("name", choice($.name, $.parenthesized)))),
        seq(choice("type", "module"), optional(field("name", $.name))),
        "open",
        "import",
        "include",
        "local",
      )),

    _piece: ($) =>
      choice(
        $.keyword,
        $.boolean,
        $.attribute,
        $.parenthesized,
        $.brackets,
        $.braces,
        $.qualified_name,
        $.name,
        $.type_parameter,
        $.constructor,
        $.number,
        $.string,
        $.character,
        $.field,
        $.operator,
        $.punctuation,
      ),

    keyword: (_) =>
      choice(
        "assert", "case", "do", "else", "for", "if", "in", "let", "loop", "match", "then", "while", "with",
      ),

    boolean: (_) => choice("true", "false"),

    parenthesized: ($) => seq(choice("(", ".("), repeat($._inner), ")"),
    brackets: ($) => seq(choice("[", ".["), repeat($._inner), "]"),
    braces: ($) => seq("{", repeat($._inner), "}"),
    attribute: ($) => seq("#[", repeat($._inner), "]"),

    // Modules have declarations in braces.
    _inner: ($) => choice($._piece, alias($._head_word, $.keyword)),
    _head_word: (_) =>
      choice("def", "entry", "val", "type", "module", "open", "import", "include", "local"),

    qualified_name: (_) =>
      token(prec(2, /([A-Za-z_\u0080-\u{10ffff}][A-Za-z0-9_'\u0080-\u{10ffff}]*\.)+[A-Za-z_\u0080-\u{10ffff}][A-Za-z0-9_'\u0080-\u{10ffff}]*/u)),
    name: (_) => NAME,
    type_parameter: (_) => token(/'[\^~]?[A-Za-z_\u0080-\u{10ffff}][A-Za-z0-9_'\u0080-\u{10ffff}]*/u),
    constructor: (_) => token(/#[A-Za-z_\u0080-\u{10ffff}][A-Za-z0-9_'\u0080-\u{10ffff}]*/u),
    field: (_) => token(/\.([A-Za-z_\u0080-\u{10ffff}][A-Za-z0-9_'\u0080-\u{10ffff}]*|[0-9]+)/u),
    number: (_) =>
      token(
        choice(
          /0[xX][0-9a-fA-F_]+(\.[0-9a-fA-F_]+)?([pP][+\-]?[0-9_]+)?[A-Za-z0-9_]*/,
          /[0-9][0-9_]*(\.[0-9][0-9_]*)?([eE][+\-]?[0-9_]+)?[A-Za-z0-9_]*/,
        ),
      ),
    string: (_) => token(/"([^"\\\n]|\\[^\n])*"/),
    character: (_) => token(prec(3, choice(/'[^'\\\n]'/, /'\\[^\n][^'\n]*'/))),
    operator: (_) =>
      token(choice(/[+\-*/%=!><|&^][+\-*/%=!><|&^.]*/, /`[A-Za-z0-9_'.\u0080-\u{10ffff}]+`/u)),
    punctuation: (_) =>
      choice(",", ":", ":>", "\\", "?", "???", "~", ".", "..", "...", "..<", "..>"),

    comment: (_) => token(prec(4, choice(/--[^\n]*/, /#[ \t#!][^\n]*/))),
  },
});
