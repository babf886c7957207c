import * as api from "./api.js";
import { arrange } from "./arrange.js";
import { drawChips } from "./chips.js";
import { byId, counted, later, make, percent } from "./dom.js";
import { EXAMPLES } from "./examples.js";
import { Lines } from "./lines.js";
import { QueryBox } from "./query_box.js";
import { Board } from "./results.js";
import { canShowMore, holds, Opinions, readFilter, readLink, same, START, topicsOf, writeLink } from "./state.js";

const CAUTION = 0.45; // what the slider starts with where the service has no caution of its own
const REFILL = 10; // hits that take the place of what the reader removes by hand come with their text

let state = { ...START };
let service = { caution: null, filters: false, feedback: false, demo: false };
let last = null; // {answer, topics} of what is on the board
let asking = null;
let retry = null;

const opinions = new Opinions();
const box = new QueryBox({ onRead: () => drawControls(), onTrouble: (error) => trouble(error, () => box.readNow()) });
const board = new Board(byId("board"), opine);
const lines = new Lines(byId("board"));
board.onChange = () => show();

const readTopics = () => box.read.topics.map((topic) => topic.text);
const caution = () => state.caution ?? service.caution ?? CAUTION;
const filters = () => service.filters && !service.demo; // the demo's documents have no fields

function drawControls() {
  state.drop = state.drop.filter((topic) => holds(readTopics(), topic) || box.query !== box.read.query);
  box.strike(state.drop);
  drawChips(state, readTopics(), { drop, take });
  const topics = topicsOf(state, readTopics());
  byId("heard").textContent = box.query ? (topics.length ? `Leaves out ${topics.join(", ")}` : "Leaves out nothing") : "";
  byId("controls").classList.toggle("idle", !box.query && !state.add.length);
  byId("controls").classList.toggle("plain", !topics.length);
  byId("caution").value = caution();
  byId("caution").setAttribute("aria-valuetext", percent(caution()));
  byId("caution-says").textContent =
    caution() === 1 ? "Nothing is removed." : `Removes what is at least ${percent(caution())} likely to cover it.`;
}

function drop(topic) {
  state.add = state.add.filter((item) => !same(item, topic));
  if (holds(readTopics(), topic)) state.drop = [...state.drop, topic];
  changedTopics();
}

function take(topic) {
  state.drop = state.drop.filter((item) => !same(item, topic));
  if (!holds(topicsOf(state, readTopics()), topic)) state.add = [...state.add, topic];
  changedTopics();
}

function changedTopics() {
  drawControls();
  if (box.query) search();
}

/** Ask for the present state and show the answer; a newer question takes the place of an older one. */
async function search({ remember = "push" } = {}) {
  state.q = box.query;
  if (!state.q) return home();
  asking?.abort();
  const mine = (asking = new AbortController());
  byId("results").setAttribute("aria-busy", "true");
  try {
    const where = filters() ? readFilter(state.where) : null;
    if (state.add.length || state.drop.length) await box.readNow();
    const byHand = state.add.length || state.drop.some((topic) => holds(readTopics(), topic));
    const exclude = byHand ? topicsOf(state, readTopics()) : null;
    const asked = { query: state.q, k: state.k + REFILL, exclude, caution: caution(), explain: true, compare: true };
    const answer = await api.search(where ? { ...asked, where } : asked, mine.signal);
    if (mine !== asking) return;
    if (!byHand && box.query === answer.query) box.know(answer.query, answer.topics);
    answer.frozen = answer.frozen.slice(0, state.k);
    last = { answer, topics: answer.topics.map((topic) => topic.text) };
    calm();
    show();
    link(remember);
  } catch (error) {
    if (error.name !== "AbortError") trouble(error, () => search({ remember }));
  } finally {
    if (mine === asking) byId("results").removeAttribute("aria-busy");
  }
}

function show() {
  const { answer, topics } = last;
  const arranged = arrange(answer, topics.length ? opinions.on(topics) : new Map(), state.k);
  document.body.classList.add("searched");
  byId("results").hidden = false;
  byId("compare-switch").hidden = !topics.length;
  byId("compare").checked = state.compare;
  const more = canShowMore(state) && arranged.ranking.length >= state.k ? showMore : null;
  byId("summary").replaceChildren(...summary(arranged, topics));
  lines.join(board.draw(arranged, { topics, caution: caution(), compare: state.compare, more }));
  document.title = `${state.q} · excise`;
}

async function showMore() {
  const seen = state.k;
  state.k += 10;
  await search({ remember: "replace" });
  board.focusRank(seen + 1);
}

function summary({ ranking, lower, removed }, topics) {
  if (!topics.length) return [`${counted(ranking.length, "result")}, nothing left out.`];
  const gone = removed.length ? make("button", { type: "button", class: "gone", click: () => board.showRemoved() }, `${removed.length} removed`) : "nothing removed";
  const doubtful = lower.filter((row) => row.status === "doubtful").length;
  return [gone, doubtful ? `, ${doubtful} doubtful moved down` : "", `, ${counted(ranking.length, "result")} left.`];
}

/** "Put back" and "remove this too": at once on the page, and as a label where the service keeps them. */
function opine(row, opinion) {
  const { topics } = last;
  opinions.set(topics, row.id, opinion);
  show();
  board.focus(row.id);
  // Which of several topics a document covers, the reader did not say: that it covers none of them, they did.
  const told = opinion === "remove" && topics.length > 1 ? [] : topics;
  if (!service.feedback) return;
  for (const topic of told) api.feedback({ query: state.q, topic, document: row.id, opinion }).catch((error) => trouble(error, null));
}

function link(remember) {
  const address = writeLink(state);
  if (address === location.hash || remember === "no") return;
  if (remember === "push") history.pushState(null, "", address);
  else history.replaceState(null, "", address);
}

function home() {
  last = null;
  asking?.abort();
  document.body.classList.remove("searched");
  byId("results").hidden = true;
  document.title = "excise: search that leaves out what you do not want";
  drawControls();
}

async function open(next, remember = "no") {
  state = next;
  board.opened.clear();
  board.everything = false;
  box.query = state.q;
  byId("where").value = state.where;
  calm();
  if (!state.q) {
    box.know("", []);
    home();
    if (remember === "push") history.pushState(null, "", location.pathname);
    return;
  }
  drawControls();
  await search({ remember });
}

function trouble(error, again) {
  const needsKey = error.status === 401;
  byId("key-form").hidden = !needsKey;
  byId("trouble").hidden = needsKey;
  byId("trouble-says").textContent = error.message;
  byId("again").hidden = again === null;
  retry = again;
  if (needsKey) byId("key").focus();
}

function calm() {
  byId("trouble").hidden = byId("key-form").hidden = true;
}

function drawGallery() {
  const examples = EXAMPLES.map(({ q, says }) => {
    const go = () => {
      scrollTo({ top: 0 });
      byId("query").focus({ preventScroll: true });
      open({ ...START, caution: state.caution, compare: state.compare, q }, "push");
    };
    return make("li", {}, make("button", { type: "button", click: go }, make("span", { class: "q" }, q), make("span", { class: "says" }, says)));
  });
  byId("examples").replaceChildren(...examples);
  byId("gallery").hidden = !service.demo;
}

async function meet() {
  try {
    service = await api.about();
  } catch (error) {
    trouble(error, start);
    return false;
  }
  calm();
  byId("corpus").textContent = counted(service.documents, service.demo ? "demo document" : "document");
  byId("version").textContent = service.version;
  byId("filter").hidden = !filters();
  byId("keeps").textContent = service.feedback ? "What you put back or remove is kept by it as a label." : "";
  drawGallery();
  return true;
}

/** What the link asks for, unless the reader began to write a question of their own while the service was asked. */
async function start() {
  if (!(await meet())) return;
  const linked = readLink(location.hash);
  if (linked.q || !box.query) return open(linked);
  drawControls();
  box.readSoon();
}

async function share() {
  const button = byId("share");
  link("replace");
  try {
    await navigator.clipboard.writeText(location.href);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Copy it from the address bar"; // the clipboard is closed to pages without TLS
  }
  setTimeout(() => (button.textContent = "Copy link"), 2500);
}

function listen() {
  const soon = later(80, () => box.query && search({ remember: "replace" }));
  const on = (id, type, action) => byId(id).addEventListener(type, action);
  const onSubmit = (id, action) =>
    on(id, "submit", (event) => {
      event.preventDefault();
      action();
    });
  onSubmit("ask", () => {
    if (!box.query) return byId("query").focus();
    state.k = START.k;
    board.opened.clear();
    return search();
  });
  onSubmit("add", () => {
    const topic = byId("topic").value.trim();
    byId("topic").value = "";
    if (topic) take(topic);
  });
  onSubmit("key-form", () => {
    api.useKey(byId("key").value.trim());
    start();
  });
  on("caution", "input", () => {
    state.caution = Number(byId("caution").value);
    drawControls();
    soon();
  });
  on("where", "change", () => {
    state.where = byId("where").value;
    if (box.query) search();
  });
  on("compare", "change", () => {
    state.compare = byId("compare").checked;
    show();
    link("replace");
  });
  on("again", "click", () => retry?.());
  on("share", "click", share);
  on("home", "click", (event) => {
    event.preventDefault();
    open({ ...START }, "push");
    byId("query").focus();
  });
  on("skip", "click", (event) => {
    event.preventDefault();
    (byId("results").hidden ? byId("gallery").querySelector("button") : byId("results"))?.focus();
  });
  addEventListener("popstate", () => open(readLink(location.hash)));
  addEventListener("keydown", (event) => {
    const writing = event.target.closest?.("input, textarea");
    if (event.key !== "/" || writing || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    byId("query").select();
  });
}

listen();
drawControls();
start();
