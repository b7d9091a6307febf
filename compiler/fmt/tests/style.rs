//! Layout of single constructs.

use par_fmt::{Refusal, Style, format};

fn formats(text: &str, width: usize, expected: &str) {
    let out = format(text, Style { width }).unwrap_or_else(|e| panic!("{e:?}"));
    assert_eq!(out, expected);
    assert_eq!(format(&out, Style { width }).expect("a program"), out);
}

#[test]
fn blanks() {
    let text = "def   f(x:i32)( y :[n]i64 ):(i32,[n]i64)=( x+1,y )\n\n\n\n\ndef g=f 1   [ 2,3 ][0:2]\n\
                type^ t 'a [n]={a:[n]a,b :i32->bool}\ndef ( <+> ) (a:i32) (b:i32)=a- -b\n";
    let expected = "def f (x: i32) (y: [n]i64) : (i32, [n]i64) = (x + 1, y)\n\n\ndef g = f 1 [2, 3][0:2]\n\
                    type^ t 'a [n] = {a: [n]a, b: i32 -> bool}\ndef (<+>) (a: i32) (b: i32) = a - -b\n";
    formats(text, 100, expected);
}

#[test]
fn indices_and_parameters() {
    let text = "def f [n][m](a: *[n][m]i32) = let a[1 : 2,0]=g a[ : n,i+1] (.[0 , 1]) in a with [0:2]=b with x.y = c\n";
    let expected = "def f [n] [m] (a: *[n][m]i32) = let a[1:2, 0] = g a[:n, i + 1] (.[0, 1]) \
                    in a with [0:2] = b with x.y = c\n";
    formats(text, 120, expected);
}

#[test]
fn modules() {
    let text = "module m:{type t val f :t->t\n  -- | Its size.\n val g [n]:[n]i32->(x:i64)->[x]i32}={ type t=i32\ndef f x=x }\n\
                module type s = { type t val zero:t }\nmodule f (p:s)(q:s with t=p.t) : {} = {}\nopen f  m m\nlocal import \"lib/a\"\n";
    let expected = "\
module m : {
  type t
  val f : t -> t
  -- | Its size.
  val g [n] : [n]i32 -> (x: i64) -> [x]i32
} = {
  type t = i32
  def f x = x
}
module type s = { type t val zero : t }
module f (p: s) (q: s with t = p.t) : {} = {}
open f m m
local import \"lib/a\"
";
    formats(text, 100, expected);
}

#[test]
fn deep_nesting_needs_no_deep_stack() {
    let deep = format!("def x = {}1{}\n", "(".repeat(200), ")".repeat(200));
    formats(&deep, 1000, &deep);
    let chain = format!("def x = {}0", "let y = 1 in ".repeat(900));
    let out = format(&chain, Style::default()).expect("a program");
    assert_eq!(out.lines().count(), 902);
}

#[test]
fn long_lines_are_broken() {
    let text =
        "entry main (xs: []i64) (ys: []i64) : i64 = let a = map2 (\\x y -> x * y) xs ys in reduce (+) 0 a";
    let expected = "\
entry main (xs: []i64) (ys: []i64) : i64 =
  let a = map2 (\\x y -> x * y) xs ys
  in reduce (+) 0 a
";
    formats(text, 50, expected);
    let expected = "\
entry main (xs: []i64)
           (ys: []i64)
           : i64 =
  let a =
    map2 (\\x y -> x * y) xs
         ys
  in reduce (+) 0 a
";
    formats(text, 28, expected);
}

#[test]
fn loops_in_loops() {
    let text = "\
def f n =
 length (
    loop a = [] for i < n do loop a = a for j < n do loop a = a for k < n do
    a ++ [n])
def g n = loop a = [] for i < n do loop a = a for j < n do a ++ [n]
";
    let expected = "\
def f n =
  length (
    loop a = [] for i < n do
      loop a = a for j < n do
        loop a = a for k < n do
          a ++ [n])
def g n = loop a = [] for i < n do loop a = a for j < n do a ++ [n]
";
    formats(text, 80, expected);
}

#[test]
fn lines_stay_broken() {
    let text = "\
def f (x: i32) =
  if x < 0
    then -x
    else if x == 0 then 1
         else x
def m (x: t) = match x
  case #a y ->
    y
  case #b -> 0
def p xs = xs
    |> map (+ 1)
    |> i32.sum
def t = [
    1, 2,
    3, 4
    ]
def r = { a = 1
        , b = 2
        }
";
    let expected = "\
def f (x: i32) =
  if x < 0
  then -x
  else if x == 0 then 1
  else x
def m (x: t) =
  match x
  case #a y ->
    y
  case #b -> 0
def p xs = xs
           |> map (+ 1)
           |> i32.sum
def t = [
  1, 2,
  3, 4
]
def r = { a = 1
        , b = 2
        }
";
    formats(text, 100, expected);
}

#[test]
fn comments_stay_where_they_are() {
    let text = "\
-- At the top.

-- | A function.
-- ==
--   input { 1 }   output   { 2 }
def f x=   -- of x
  -- first
  let y=x+1 -- one more
     -- before in
  in y   -- result

module m={
-- inside
def x=1
  -- at the end
}
-- the end";
    let expected = "\
-- At the top.

-- | A function.
-- ==
--   input { 1 }   output   { 2 }
def f x =   -- of x
  -- first
  let y = x + 1 -- one more
  -- before in
  in y   -- result

module m = {
  -- inside
  def x = 1
  -- at the end
}
-- the end
";
    formats(text, 100, expected);
}

#[test]
fn line_ends_and_marks() {
    formats("def x=1\r\ndef y=2", 100, "def x = 1\r\ndef y = 2\r\n");
    formats("\u{feff}def x=1", 100, "def x = 1\n");
    formats("", 100, "");
    formats("\n\n-- only this  \n\n", 100, "-- only this\n");
}

#[test]
fn what_is_no_program_is_refused() {
    assert!(
        matches!(format("def x = (1", Style::default()), Err(Refusal::Wrong(errors)) if errors.len() == 1)
    );
}
