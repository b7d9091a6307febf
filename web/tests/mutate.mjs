// Programs with random changes, the same in every run.

export function mutated(texts, count) {
  let state = 12345
  const random = below => {
    // Numerical Recipes' generator.
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
  const pick = list => list[random(list.length)]
  const words = text => [...text.matchAll(/[A-Za-z_][\w']*|\d+|[^\sA-Za-z_\d]/g)]
  const change = text => {
    const all = words(text)
    const one = pick(all)
    const before = text.slice(0, one.index)
    const after = text.slice(one.index + one[0].length)
    switch (random(6)) {
      case 0:
        return before + after
      case 1:
        return `${before}${one[0]} ${one[0]}${after}`
      case 2:
        return before + pick(all)[0] + after
      case 3:
        return before + pick(["(", ")", "[", "]", "-1", "0", "true", "map", "𝕏", "\0", '"', "--", "#[", "let", "->", "9999999999"]) + after
      case 4:
        return text.slice(0, one.index)
      default:
        return before + String.fromCharCode(33 + random(94)) + after
    }
  }
  const short = texts.filter(text => text.length < 6000)
  return Array.from({ length: count }, () => {
    let text = pick(short)
    for (let i = random(3); i >= 0; i--) text = change(text)
    return text
  })
}
