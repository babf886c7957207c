/** What a link carries, and what is kept for the session. */

export const START = Object.freeze({ q: "", add: [], drop: [], caution: null, k: 10, compare: true, where: "" });
const MOST = 50;

/**
 * The state lives in the part of the address after #, which browsers do not send: a shared query stays out of logs.
 */
export function readLink(hash) {
  const fields = new URLSearchParams(hash.replace(/^#/, ""));
  const caution = Number.parseFloat(fields.get("caution"));
  const k = Number.parseInt(fields.get("k"), 10);
  return {
    q: (fields.get("q") ?? "").slice(0, 4000),
    add: fields.getAll("leave-out").slice(0, 20),
    drop: fields.getAll("keep").slice(0, 20),
    caution: caution >= 0 && caution <= 1 ? caution : null,
    k: k >= 1 ? Math.min(k, MOST) : START.k,
    compare: fields.get("compare") !== "no",
    where: fields.get("where") ?? "",
  };
}

export function writeLink(state) {
  const fields = new URLSearchParams();
  if (state.q) fields.set("q", state.q);
  for (const topic of state.add) fields.append("leave-out", topic);
  for (const topic of state.drop) fields.append("keep", topic);
  if (state.caution !== null) fields.set("caution", String(state.caution));
  if (state.k !== START.k) fields.set("k", String(state.k));
  if (!state.compare) fields.set("compare", "no");
  if (state.where) fields.set("where", state.where);
  return `#${fields}`;
}

export const canShowMore = (state) => state.k < MOST;
export const same = (one, other) => one.trim().toLowerCase() === other.trim().toLowerCase();
export const holds = (topics, topic) => topics.some((item) => same(item, topic));

/** The topics that are left out: what was read in the query, less what was dropped, and what was added by hand. */
export function topicsOf(state, read) {
  const kept = read.filter((topic) => !holds(state.drop, topic));
  return [...kept, ...state.add.filter((topic) => !holds(kept, topic))];
}

/** "year: 2024, language: en" or a JSON object, as the service takes it. */
export function readFilter(text) {
  const written = text.trim();
  if (!written) return null;
  if (written.startsWith("{")) {
    try {
      return JSON.parse(written);
    } catch {
      throw new SyntaxError("The filter is no valid JSON object.");
    }
  }
  const pairs = written.split(",").map((pair) => pair.match(/^\s*([^:=]+?)\s*[:=]\s*(.+?)\s*$/));
  if (pairs.includes(null)) throw new SyntaxError("Write the filter as field: value, field: value.");
  return Object.fromEntries(pairs.map(([, field, value]) => [field, plain(value)]));
}

function plain(value) {
  if (value === "true" || value === "false") return value === "true";
  return value !== "" && Number.isFinite(Number(value)) ? Number(value) : value.replace(/^"(.*)"$/, "$1");
}

const OPINIONS = "excise-opinions";

/** What the reader put back or removed by hand, by the topics that it was about; until the tab is closed. */
export class Opinions {
  constructor() {
    try {
      this.all = JSON.parse(sessionStorage.getItem(OPINIONS)) ?? {};
    } catch {
      this.all = {};
    }
  }

  static name(topics) {
    return JSON.stringify(topics.map((topic) => topic.trim().toLowerCase()).sort());
  }

  on(topics) {
    return new Map(Object.entries(this.all[Opinions.name(topics)] ?? {}));
  }

  set(topics, id, opinion) {
    const name = Opinions.name(topics);
    const held = new Map(Object.entries(this.all[name] ?? {}));
    if (opinion === "forget") held.delete(id);
    else held.set(id, opinion);
    this.all[name] = Object.fromEntries(held);
    sessionStorage.setItem(OPINIONS, JSON.stringify(this.all));
  }
}
