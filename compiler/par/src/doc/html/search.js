// A search over all names. Without JavaScript the index page has them all.
"use strict";
(() => {
  const root = document.body.dataset.root;
  const field = document.createElement("input");
  field.type = "search";
  field.placeholder = "Search (press /)";
  field.setAttribute("aria-label", "Search all names");
  const list = document.createElement("ul");
  list.className = "found";
  document.getElementById("search").append(field, list);

  // Smaller is better: the whole name, its beginning, a part of it, then words of the description.
  const rank = ([name, , summary], wanted) => {
    const lower = name.toLowerCase();
    const base = lower.slice(lower.lastIndexOf(".") + 1);
    if (lower === wanted || base === wanted) return 0;
    if (base.startsWith(wanted) || lower.startsWith(wanted)) return 1;
    if (lower.includes(wanted)) return 2;
    return summary.toLowerCase().includes(wanted) ? 3 : -1;
  };

  const show = () => {
    const wanted = field.value.trim().toLowerCase();
    list.replaceChildren();
    if (!wanted) return;
    const found = NAMES.map((entry) => [rank(entry, wanted), entry]).filter(([r]) => r >= 0);
    found.sort(([a, x], [b, y]) => a - b || x[0].length - y[0].length);
    for (const [, [name, place, summary]] of found.slice(0, 30)) {
      const link = document.createElement("a");
      link.href = root + place;
      link.title = summary;
      link.textContent = name;
      const row = document.createElement("li");
      row.append(link);
      list.append(row);
    }
    if (!found.length) {
      const none = document.createElement("li");
      none.textContent = "nothing found";
      list.append(none);
    }
  };

  field.addEventListener("input", show);
  field.addEventListener("keydown", (event) => {
    const first = list.querySelector("a");
    if (event.key === "Enter" && first) location.href = first.href;
    if (event.key === "Escape") { field.value = ""; show(); }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== field) {
      event.preventDefault();
      field.focus();
    }
  });
})();
