import { counted, foreign, make, percent } from "./dom.js";
import { documentText } from "./api.js";

const SAYS = {
  mentions: ["mentions it", "It names the topic or matches it, and keeps its place."],
  stays: ["stays", "The query names it, or nothing that is clear of the topic answers as well: so it stays."],
  doubtful: ["doubtful", "It may cover the topic, so it comes after all that is clear of it."],
  protected: ["asked for", "The query names its title, so it stays."],
  penalised: ["moved down", "It matches the topic, so it ranks lower."],
  "put back": ["put back", "You put it back."],
  "by hand": ["by hand", "You removed it."],
};
const REMOVED_AT_FIRST = 10;

/**
 * Draws a board: the ranking without exclusion, the ranking with it, what moved further down, and what was removed.
 *
 * Returns the pairs of elements that show the same document. act(row, opinion) is called for "put back" and the like.
 */
export class Board {
  constructor(element, act) {
    this.element = element;
    this.act = act;
    this.opened = new Set();
    this.rows = new Map(); // the row of each document that is shown, by its id
    this.everything = false;
  }

  draw(arranged, { topics, caution, compare, more }) {
    const focused = this.focused();
    this.rows = new Map();
    const { before, ranking, lower, removed } = arranged;
    const changed = topics.length > 0;
    const beside = changed && compare;
    this.context = { topics, caution, beside };
    const question = topics.length === 1 ? ["covers ", foreign(topics[0]), "?"] : ["covers a topic?"];
    const lead = changed ? make("span", { class: "key", "aria-hidden": "true" }, ...question) : null;
    const columns = [];
    const left = beside ? this.before(before) : null;
    if (left) columns.push(make("section", { class: "before" }, make("h3", {}, "Without exclusion"), left.list));
    columns.push(
      make(
        "section",
        { class: "after" },
        make("h3", {}, make("span", {}, changed ? "With exclusion" : "Results"), lead),
        ranking.length ? this.list(ranking, "hits") : make("p", { class: "empty" }, "Nothing is left."),
        more ? make("button", { type: "button", class: "quiet more", click: more }, "Show ten more") : null,
        ...(lower.length ? this.group("lower", "Further down", lower) : []),
        ...(removed.length ? this.removedGroup(removed) : []),
      ),
    );
    this.element.classList.toggle("beside", beside);
    this.element.replaceChildren(...columns);
    if (focused) this.focus(...focused);
    if (!left) return [];
    return left.items
      .filter(({ row }) => this.rows.has(row.id))
      .map(({ row, item }) => ({ from: item, to: this.rows.get(row.id), fate: row.fate }));
  }

  before(rows) {
    const items = rows.map((row) => {
      const fate = { removed: " (removed)", lower: " (further down now)" }[row.fate];
      const title = foreign(row.title || row.id, { class: "title" });
      const note = fate ? make("span", { class: "unseen" }, fate) : null;
      return { row, item: make("li", { class: `was ${row.fate}` }, rank(row.rank), title, note) };
    });
    return { items, list: make("ol", {}, ...items.map(({ item }) => item)) };
  }

  group(name, heading, rows, ...rest) {
    const id = `group-${name}`;
    return [make("div", { class: `group ${name}` }, make("h3", { id, tabindex: "-1" }, heading), this.list(rows, name, id), ...rest)];
  }

  removedGroup(rows) {
    const shown = this.everything ? rows : rows.slice(0, REMOVED_AT_FIRST);
    const label = `Show all ${rows.length}`;
    const open = () => {
      this.everything = true;
      this.onChange();
    };
    const rest = shown.length < rows.length ? make("button", { type: "button", class: "quiet", click: open }, label) : null;
    return this.group("removed", `Removed (${rows.length})`, shown, rest);
  }

  list(rows, kind, labelledby = null) {
    return make("ol", { class: kind, "aria-labelledby": labelledby }, ...rows.map((row) => this.row(row, kind)));
  }

  row(row, kind) {
    const gone = kind === "removed";
    const body = make("div", { class: "body", hidden: true });
    const toggle = make("button", { type: "button", class: "title", "aria-expanded": "false" }, foreign(row.title));
    toggle.addEventListener("click", () => this.toggle(row, toggle, body));
    const item = make(
      "li",
      { class: `row ${row.status.replace(" ", "-")}` },
      gone ? rank(row.frozenRank, `Was number ${row.frozenRank}: `) : rank(row.rank),
      make("div", { class: "head" }, make("h4", {}, toggle), make("p", { class: "notes" }, ...this.notes(row, gone))),
      this.chance(row),
      passage(row) ?? this.opening(row),
      this.action(row),
      body,
    );
    item.dataset.row = "";
    this.rows.set(row.id, item);
    if (this.opened.has(row.id)) this.toggle(row, toggle, body);
    return item;
  }

  /** Where there is room for it, how the document begins. */
  opening({ text }) {
    return text && !this.context.beside ? make("p", { class: "opening", dir: "auto" }, text.slice(0, 400)) : null;
  }

  notes(row, gone) {
    const stays = row.status === "mentions" && row.probability >= this.context.caution;
    const [label, meaning] = SAYS[stays ? "stays" : row.status] ?? [];
    const moved = !gone && row.rank !== row.frozenRank ? `was ${row.frozenRank}` : null;
    return [
      label ? make("span", { class: "tag", title: meaning }, label) : null,
      moved ? make("span", { class: "moved" }, moved) : null,
    ].filter(Boolean);
  }

  chance(row) {
    if (row.probability === null) return null;
    const bar = make("span", { class: "bar", "aria-hidden": "true" }, make("span", { class: "fill" }), make("span", { class: "cut" }));
    bar.firstChild.style.width = `${Math.max(row.probability, 0.01) * 100}%`;
    bar.lastChild.style.left = `${this.context.caution * 100}%`;
    const words = make("span", { class: "unseen" }, "Probability of covering ", spoken(this.context.topics), ": ");
    return make("p", { class: "chance" }, words, bar, make("span", { class: "number" }, percent(row.probability)));
  }

  action(row) {
    if (row.status === "removed") return this.button(row, "put_back", "Put back");
    if (row.status === "put back") return this.button(row, "forget", "Remove again");
    if (row.status === "by hand") return this.button(row, "forget", "Put back");
    return null;
  }

  button(row, opinion, label) {
    const spokenLabel = `${label}: ${row.title}`;
    return make("button", { type: "button", class: "act", "aria-label": spokenLabel, click: () => this.act(row, opinion) }, label);
  }

  async toggle(row, toggle, body) {
    const open = body.hidden;
    body.hidden = !open;
    toggle.setAttribute("aria-expanded", String(open));
    if (!open) {
      this.opened.delete(row.id);
      return;
    }
    this.opened.add(row.id);
    if (body.childNodes.length) return;
    const text = make("p", { class: "text", dir: "auto" });
    const judged = this.context.topics.length && !["removed", "by hand", "put back"].includes(row.status);
    body.append(text, ...(judged ? [this.button(row, "remove", "Remove this too")] : []));
    try {
      marked(text, row.text ?? (await documentText(row.id)), row.passage);
    } catch (error) {
      text.textContent = error.message;
    }
  }

  showRemoved() {
    const heading = this.element.querySelector("#group-removed");
    heading.scrollIntoView({ block: "start" });
    heading.focus({ preventScroll: true });
  }

  focusRank(number) {
    this.element.querySelectorAll("ol.hits > .row")[number - 1]?.querySelector("button.title").focus();
  }

  /** The document that has the focus, and which of its buttons; a new ranking must not take it from the reader. */
  focused() {
    for (const [id, row] of this.rows) {
      if (row.contains(document.activeElement)) return [id, document.activeElement.className];
    }
    return null;
  }

  focus(id, button = "title") {
    const row = this.rows.get(id);
    const own = [...(row?.querySelectorAll("button") ?? [])].find((item) => item.className === button);
    (own ?? row?.querySelector("button"))?.focus({ preventScroll: true });
  }
}

/** A passage that is the title says nothing twice. */
function passage({ title, passage: text }) {
  if (!text) return null;
  const plain = (words) => words.replace(/[\s.]+$/, "");
  if (plain(text) === plain(title)) return make("p", { class: "passage says" }, "Its title says so.");
  return make("blockquote", { class: "passage", dir: "auto" }, text);
}

const rank = (number, words = "") => make("span", { class: "rank" }, make("span", { class: "unseen" }, words), String(number));
const spoken = (topics) => (topics.length === 1 ? topics[0] : "one of the topics");

/** The document's text with the passage marked, where the passage is part of the text and not its title. */
function marked(element, text, passage) {
  const at = passage ? text.indexOf(passage) : -1;
  if (at < 0) element.textContent = text;
  else element.replaceChildren(text.slice(0, at), make("mark", {}, passage), text.slice(at + passage.length));
}
