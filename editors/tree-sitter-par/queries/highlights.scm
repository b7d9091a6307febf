(comment) @comment
(string) @string
(character) @string
(number) @number
(boolean) @constant.builtin
(keyword) @keyword
["def" "entry" "val" "type" "module" "open" "import" "include" "local"] @keyword
(declaration name: (name) @function)
((name) @type.builtin
  (#match? @type.builtin "^([iu](8|16|32|64)|f(16|32|64)|bool)$"))
(type_parameter) @type
(constructor) @constructor
(attribute) @attribute
(operator) @operator
(punctuation) @punctuation.delimiter
