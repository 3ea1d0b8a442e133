// Builds elements. Data becomes text or the value of a known attribute, never markup.

export const $ = (id) => document.getElementById(id);

export function h(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "class") made.className = value;
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value != null) made.setAttribute(name, String(value));
  }
  made.append(...children.flat().filter((child) => child != null).map((child) => (child instanceof Node ? child : String(child))));
  return made;
}

export function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  made.append(...children);
  return made;
}

export function fill(parent, ...children) {
  parent.replaceChildren(...children.flat().filter((child) => child != null));
}

// A typed attribute value stays on one line, as in {"S": "x"}: the items are easier to compare.
export const json = (value) => JSON.stringify(value, null, 2).replace(/\{\n\s+("[A-Z]+": (?:"(?:[^"\\\n]|\\.)*"|true|false))\n\s+\}/g, "{$1}");

export function apart(milliseconds) {
  const ms = Math.max(0, Math.round(milliseconds));
  if (ms < 1000) return `${ms} ms`;
  const seconds = Math.floor(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
  return `${Math.floor(seconds / 86400)} d`;
}

export const clock = (ms) => new Date(ms).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
