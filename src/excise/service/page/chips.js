import { byId, foreign, make } from "./dom.js";
import { holds, same, topicsOf } from "./state.js";

/** The topics that are left out, each with a button that drops it; dropped ones stay, to be taken up again. */
export function drawChips(state, read, { drop, take }) {
  const active = topicsOf(state, read);
  const dropped = read.filter((topic) => holds(state.drop, topic));
  const none = make("li", { class: "none" }, "nothing");
  const chips = [
    ...(active.length ? [] : [none]),
    ...active.map((topic) => chip(topic, holds(read, topic) ? "" : "added", `Stop leaving out ${topic}`, "×", drop)),
    ...dropped.map((topic) => chip(topic, "dropped", `Leave out ${topic} again`, "+", take)),
  ];
  const list = byId("chips");
  const focused = list.contains(document.activeElement) ? topicOf(document.activeElement) : null;
  list.replaceChildren(...chips);
  if (focused === null) return;
  // The focus stays with the topic that was dropped or taken up, or goes on to the field for another one.
  const own = [...list.querySelectorAll("button")].find((button) => same(topicOf(button), focused));
  (own ?? byId("topic")).focus();
}

const topicOf = (button) => button.previousSibling.textContent;

function chip(topic, kind, label, sign, act) {
  const button = make("button", { type: "button", "aria-label": label, title: label, click: () => act(topic) }, sign);
  return make("li", { class: `chip ${kind}` }, foreign(topic), button);
}
