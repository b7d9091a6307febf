// Elements in a line: element("button", {class: "x", onclick}, "text", child).

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value)
    else if (value === true) made.setAttribute(key, "")
    else if (value !== false && value != null) made.setAttribute(key, value)
  }
  made.append(...children.filter(child => child != null))
  return made
}
