/**
 * The only way this page makes elements. Whatever comes from documents or queries is set as text, never as markup.
 *
 * make("p", {class: "note"}, "text", element, ...) ; attributes that are null or false are left out, functions are listeners.
 */
export function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(key, value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export const byId = (id) => document.getElementById(id);

/** Text of unknown writing direction, kept from turning its neighbours around. */
export const foreign = (text, attributes = {}) => make("bdi", attributes, text);

export function later(milliseconds, action) {
  let timer = 0;
  const start = (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...values), milliseconds);
  };
  start.cancel = () => clearTimeout(timer);
  return start;
}

export function percent(probability) {
  if (probability > 0 && probability < 0.005) return "< 1 %";
  return `${Math.round(probability * 100)} %`;
}

export const counted = (count, one, many = `${one}s`) => `${count} ${count === 1 ? one : many}`;
