// The examples as lessons.

import fs from "node:fs"
import path from "node:path"

// The first program.
const FIRST = `-- Quicksort as the textbook writes it, inside a map over rows of different lengths.
def qsort (xs: []i64) : []i64 =
  if length xs < 2 then xs
  else let p = xs[length xs / 2]
       let sorted = map qsort [filter (< p) xs, filter (> p) xs]
       in sorted[0] ++ filter (== p) xs ++ sorted[1]

-- ==
-- input { [[6, 5, 5], [], [2], [9, 1, 9, 4, 7, 3]] }

entry main (xss: [][]i64) : [][]i64 = map qsort xss
`

const GROUPS = [
  ["Examples", "examples", true],
  ["Derivatives", "examples/derivatives", false],
  ["Cookbook", "examples/cookbook", false],
]

// The first sentence of the comment at the beginning.
function about(text) {
  const lines = text.split("\n")
  const comment = lines.slice(0, lines.findIndex(line => !line.startsWith("--"))).filter(line => !/^--\s*(?:==|\||#)/.test(line))
  return comment.map(line => line.replace(/^--\s?/, "")).join(" ").trim().split(/(?<=[.?!])\s/)[0]
}

export function lessons(root, tutorial) {
  const groups = GROUPS.map(([title, folder, open]) => {
    const names = fs.readdirSync(path.join(root, folder)).filter(name => name.endsWith(".par")).sort()
    const all = names.map(name => {
      const text = fs.readFileSync(path.join(root, folder, name), "utf8")
      const stem = name.slice(0, -4)
      return { name: path.posix.join(folder, stem).replace(/^examples\//, ""), title: stem.replaceAll("_", " "), about: about(text), text }
    })
    return { title, open, lessons: all }
  })
  return { first: FIRST, groups, tutorial }
}
