//! Names and operators of other languages, with what is written instead in Par.

use par_syntax::ast::Name;

const VALUES: &[(&[&str], &str)] = &[
    (&["len", "size", "count", "numel"], "the number of elements is `length xs`"),
    (&["True", "TRUE"], "did you mean `true`?"),
    (&["False", "FALSE"], "did you mean `false`?"),
    (&["mod", "rem"], "the remainder is `a % b`"),
    (&["div"], "the quotient is `a / b`"),
    (&["xor"], "the exclusive or of two conditions is `a != b`, of the bits of two integers `a ^ b`"),
    (&["elif", "elseif", "elsif"], "write `else if`"),
    (&["return"], "there is no `return`: the value of a function is its body"),
    (
        &["print", "println", "printf", "putStrLn"],
        "nothing can be printed while a program runs; `#[trace] e` shows the value of `e`",
    ),
    (
        &["nil", "None", "Nothing", "undefined"],
        "every value is there; what may be missing is a sum type: `#some x` or `#none`",
    ),
    (&["fold"], "`reduce op ne xs` for an operator that is associative, `foldl f a xs` one after the other"),
    (
        &["zipWith", "zip_with", "zipwith"],
        "a function is applied to the elements of two arrays by `map2 f xs ys`, of three by `map3`",
    ),
    (
        &["concatMap", "flatMap", "flat_map"],
        "the rows that a function gives are joined by `flatten (map f xs)`",
    ),
    (&["push", "append", "concatenate"], "arrays are joined with `xs ++ ys`"),
    (&["range", "arange", "seq"], "the numbers below n are `iota n`, those from a to below b `a..<b`"),
    (&["zeros"], "an array of zeros is `replicate n 0`"),
    (&["ones"], "an array of ones is `replicate n 1`"),
    (
        &["float", "double", "int", "toFloat", "fromIntegral"],
        "a conversion names both types: `f64.i32 x` makes an f64 of an i32",
    ),
    (&["ceiling"], "functions of numbers belong to the modules of the types: `f64.ceil x`"),
    (&["self", "this"], "there are no objects"),
];

/// Words of the syntax, among them such as stand between expressions.
const WORDS: &[(&[&str], &str)] = &[
    (&["lambda", "fun", "fn"], "a function is written `\\x -> e`"),
    (&["while", "for"], "a loop is written `loop x = v for i < n do e`"),
    (&["foreach"], "a function is applied to all elements by `map f xs`"),
    (&["begin", "end"], "expressions are grouped by parentheses"),
    (&["where"], "there is no `where`: bind a name before it is used, let x = … in …"),
    (&["unsafe"], "an expression is marked with an attribute: `#[unsafe] e`"),
    (&["is"], "two values are compared with `==`"),
    (
        &["try", "catch", "throw", "raise", "except"],
        "an error ends the program; what may be missing is a sum type: `#some x` or `#none`",
    ),
    (&["as"], "a conversion names both types: `i64.i32 x` makes an i64 of an i32"),
];

const OPERATORS: &[(&[&str], &str)] = &[
    (&["=>"], "a function is written `\\x -> e`, a comparison `>=`"),
    (&["=<"], "did you mean `<=`?"),
    (&["<>", "/=", "!==", "=/=", "><"], "did you mean `!=`?"),
    (&["===", "=="], "did you mean `==`?"),
    (
        &["+=", "-=", "*=", "%=", "|=", "&="],
        "values do not change: give the new value to a name, let x = … in …",
    ),
    (
        &["<-"],
        "a name is bound with `let x = e in …`, an array is made with `map f xs`, a record with another field \
         is `r with x = e`",
    ),
    (&["!!"], "an element of an array is `xs[i]`"),
    (&["/*", "/**"], "a comment begins with `--`"),
    (&["|||"], "did you mean `||`?"),
    (&["&&&"], "did you mean `&&`?"),
    (
        &[".+", "+.", "*.", "-.", "/."],
        "the operators are the same for all numbers; on arrays: map2 (+) xs ys",
    ),
];

const TYPES: &[(&[&str], &str)] = &[
    (
        &["int", "Int", "integer", "Integer", "int32", "Int32"],
        "whole numbers are `i8`, `i16`, `i32` and `i64`",
    ),
    (&["long", "Long", "int64", "Int64", "isize"], "did you mean `i64`?"),
    (&["short", "int16"], "did you mean `i16`?"),
    (
        &["uint", "unsigned", "word", "Word", "uint32"],
        "numbers without sign are `u8`, `u16`, `u32` and `u64`",
    ),
    (&["usize", "size_t", "uint64"], "sizes and indices are of type `i64`"),
    (&["byte", "uint8", "char", "Char"], "did you mean `u8`?"),
    (&["float", "Float", "float32", "single"], "did you mean `f32`?"),
    (&["double", "Double", "float64", "real", "Real", "number"], "did you mean `f64`?"),
    (&["half", "float16", "bfloat16"], "did you mean `f16`?"),
    (&["Bool", "boolean", "Boolean"], "did you mean `bool`?"),
    (&["string", "String", "str", "text"], "text is an array of bytes: `[]u8`"),
    (&["of"], "what a constructor holds follows its name: `#some i32`"),
    (&["fn", "func", "fun", "Fn", "function", "Function"], "the type of a function is written `a -> b`"),
    (&["void", "unit", "Unit", "None"], "the type of the empty tuple is `()`"),
    (
        &["array", "Array", "list", "List", "vec", "Vec", "vector", "Vector"],
        "an array of `t` has the type `[]t`",
    ),
    (
        &["option", "Option", "maybe", "Maybe"],
        "a value that may be missing has a type like `#some t | #none`",
    ),
];

fn find(table: &[(&[&str], &'static str)], name: &str) -> Option<&'static str> {
    table.iter().find(|(names, _)| names.contains(&name)).map(|(_, hint)| *hint)
}

/// Suggestion for a name or an operator that does not exist.
pub(super) fn value(name: &Name) -> Option<String> {
    if !name.path.is_empty() {
        return None;
    }
    let tables = [VALUES, WORDS, OPERATORS];
    let known = tables.into_iter().find_map(|table| find(table, &name.base));
    known.map(str::to_string).or_else(|| glued(&name.base))
}

/// True if a name is a word of another language's syntax, with which no application makes sense.
pub(super) fn is_word(name: &Name) -> bool {
    name.path.is_empty() && find(WORDS, &name.base).is_some()
}

/// Suggestion for a type that does not exist.
pub(super) fn ty(name: &str) -> Option<&'static str> {
    find(TYPES, name)
}

/// `x==-1` is read as `x`, `==-`, `1`.
fn glued(op: &str) -> Option<String> {
    let prefix = op.strip_suffix('-').or_else(|| op.strip_suffix('!'))?;
    let known = super::scope::OPERATORS.contains(&prefix) || prefix == "&&" || prefix == "||";
    known.then(|| format!("`{op}` is read as one operator; put a space after `{prefix}`"))
}
