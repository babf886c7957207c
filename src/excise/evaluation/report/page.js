"use strict";
(() => {
  // Everything that comes from the data enters the page as text (textContent), never as markup.
  const $ = (id) => document.getElementById(id);
  const el = (tag, attributes = {}, ...children) => {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name === "class") node.className = value;
      else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else node.setAttribute(name, value);
    }
    node.append(...children.filter((child) => child !== null && child !== ""));
    return node;
  };

  // Light or dark: the system's choice until the button is pressed.
  $("theme").addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });

  // Tables by tier: one metric at a time.
  const NAMES = { "ndcg@10": "nDCG@10", "xndcg@10": "xnDCG@10" };
  for (const group of document.querySelectorAll(".tiers")) {
    const tables = [...group.querySelectorAll("[data-metric]")];
    const bar = el("div", { class: "tierbar" }, group.querySelector("h4"));
    const show = (metric) => {
      for (const table of tables) table.hidden = table.dataset.metric !== metric;
      for (const pill of bar.querySelectorAll(".pill")) pill.setAttribute("aria-pressed", pill.dataset.metric === metric);
    };
    for (const { dataset: { metric } } of tables) {
      const pill = el("button", { type: "button", class: "pill", "data-metric": metric, onclick: () => show(metric) });
      pill.textContent = NAMES[metric] || metric;
      bar.append(pill);
    }
    group.prepend(bar);
    show(tables[0].dataset.metric);
  }

  // The browser of single queries.
  const runs = JSON.parse($("data").textContent);
  if (!runs.length) { $("empty").hidden = false; return; }
  $("panel").hidden = false;

  const [SUCCESS, HIT, LEAK, NDCG] = [0, 1, 2, 3];
  const LABELS = ["neutral", "gold", "excluded"];
  const OUTCOMES = {
    all: ["All", ""],
    fixed: ["Fixed", "fails on the left, succeeds on the right"],
    broken: ["Broken", "succeeds on the left, fails on the right"],
    failing: ["Still failing", "fails on both sides"],
    unchanged: ["Unchanged", "succeeds on both sides"],
  };
  const PAGE = 150;
  const state = { run: 0, tier: "", left: 0, right: 0, outcome: "all", words: "", chosen: null, shown: PAGE };
  const run = () => runs[state.run];

  const outcome = (query) => {
    const [left, right] = [query.by[state.left], query.by[state.right]];
    if (!left || !right || left[0][SUCCESS] === null || right[0][SUCCESS] === null) return "unjudged";
    if (left[0][SUCCESS]) return right[0][SUCCESS] ? "unchanged" : "broken";
    return right[0][SUCCESS] ? "fixed" : "failing";
  };
  const fill = (select, options, chosen) => {
    select.replaceChildren(...options.map(([value, text]) => {
      const option = el("option", { value });
      option.textContent = text;
      return option;
    }));
    select.value = chosen;
  };
  const inScope = () => {
    const words = state.words.toLowerCase().split(/\s+/).filter(Boolean);
    return run().queries.filter((query) => {
      if (state.tier && query.tier !== state.tier) return false;
      const text = `${query.text} ${query.id} ${query.excluded.join(" ")}`.toLowerCase();
      return words.every((word) => text.includes(word));
    });
  };

  const drawOutcomes = (queries) => {
    const counts = { all: queries.length };
    for (const query of queries) { const kind = outcome(query); counts[kind] = (counts[kind] || 0) + 1; }
    $("outcomes").replaceChildren(...Object.entries(OUTCOMES).map(([kind, [name, title]]) => el(
      "button",
      { type: "button", class: "pill", title, "aria-pressed": state.outcome === kind, onclick: () => { state.outcome = kind; restart(); } },
      name, el("span", {}, String(counts[kind] || 0)),
    )));
  };

  const drawList = (queries) => {
    const items = queries.slice(0, state.shown).map((query) => {
      const kind = outcome(query);
      const name = OUTCOMES[kind] ? OUTCOMES[kind][0].toLowerCase() : "not judged";
      return el(
        "li", { class: query === state.chosen ? "chosen" : "", onclick: () => choose(query) },
        el("div", { class: "clamp" }, query.text), el("small", {}, el("span", { class: kind }, name), query.tier || "", el("span", {}, query.id)),
      );
    });
    if (!queries.length) items.push(el("li", { class: "message" }, "No query matches."));
    if (queries.length > state.shown) {
      const more = () => { state.shown += PAGE; draw(); };
      items.push(el("li", { onclick: more }, `Show more (${queries.length - state.shown} left)`));
    }
    $("list").replaceChildren(...items);
  };

  // The query with the excluded words struck through, and the topics that it does not name after it.
  const struck = (query, result) => {
    let spans = [], elsewhere = [];
    const topics = result && result[2].length ? result[2] : query.excluded.map((text) => {
      const start = query.text.toLowerCase().indexOf(text.toLowerCase());
      if (start < 0) return [text, null, null];
      const before = [...query.text.slice(0, start)].length;
      return [text, before, before + [...text].length];
    });
    // Offsets count code points, as Python does; JavaScript's strings count UTF-16 units.
    const letters = [...query.text];
    for (const [text, start, end] of topics) {
      if (start === null || end === null) elsewhere.push(text); else spans.push([start, end]);
    }
    spans.sort((a, b) => a[0] - b[0]);
    const parts = [];
    let at = 0;
    for (const [start, end] of spans) {
      if (start < at) continue;
      parts.push(letters.slice(at, start).join(""), el("del", {}, letters.slice(start, end).join("")));
      at = end;
    }
    parts.push(letters.slice(at).join(""));
    if (elsewhere.length) parts.push(" less ", el("del", {}, elsewhere.join(", ")));
    return el("p", { class: "query" }, ...parts);
  };

  const evidence = (value) => {
    if (value === null) return el("span", {});
    const bar = el("span", { class: "fill" });
    bar.style.width = `${Math.max(0, Math.min(1, value)) * 100}%`;
    return el("span", { class: "evidence", title: `evidence ${value}` }, el("span", { class: "track" }, bar), value.toFixed(2));
  };
  const moved = (rank, frozen) => {
    if (frozen === null || frozen === undefined || frozen === rank) return el("span", { class: "move" });
    const text = frozen > rank ? `↑${frozen - rank}` : `↓${rank - frozen}`;
    return el("span", { class: "move", title: `rank ${frozen} in the frozen index` }, text);
  };
  // What the other side says about a document of this one: its evidence, and whether it was removed there.
  const elsewhere = (other) => ({
    evidence: new Map((other ? other[3] : []).map((hit) => [hit[0], hit[3]])),
    removed: new Set(other ? other[4] : []),
  });
  const drawHit = (hit, place, fired, there, side) => {
    const [document_, label, frozen, found, status, score] = hit;
    const [id, title] = run().documents[document_];
    const said = [
      LABELS[label] === "neutral" ? "" : LABELS[label],
      fired ? run().statuses[status] : "",
      there.removed.has(document_) ? `removed on the ${side}` : "",
      title ? id : "",
    ];
    return el(
      "div", { class: `hit ${LABELS[label]}`, title: `${title || id}${score === null ? "" : `, score ${score}`}` },
      el("span", { class: "rank" }, String(place + 1)),
      el("span", { class: "title" }, el("b", {}, title || id), el("small", {}, said.filter(Boolean).join(" · "))),
      moved(place + 1, frozen), evidence(found ?? there.evidence.get(document_) ?? null),
    );
  };
  const drawSide = (query, system, other, otherSide) => {
    const result = query.by[system];
    const there = elsewhere(query.by[other]);
    const side = el("div", { class: "side" });
    const name = run().systems[system];
    if (!result) { side.append(el("h4", {}, name), el("p", { class: "removed" }, "This system has no ranking for the query.")); return side; }
    const [metrics, fired, , top, removed] = result;
    const facts = [
      metrics[SUCCESS] === null ? "" : metrics[SUCCESS] ? "success" : "no success",
      metrics[HIT] === 0 ? "no hit" : "", metrics[LEAK] ? "leak" : "",
      metrics[NDCG] === null ? "" : `nDCG ${metrics[NDCG].toFixed(3)}`,
    ].filter(Boolean).join(", ");
    side.append(el("h4", {}, name, el("span", {}, facts)), ...top.map((hit, place) => drawHit(hit, place, fired, there, otherSide)));
    if (!top.length) side.append(el("p", { class: "removed" }, "Nothing was found."));
    if (removed.length) {
      const names = removed.map((place) => run().documents[place][1] || run().documents[place][0]);
      side.append(el("p", { class: "removed" }, "Removed: ", el("del", {}, names.join(", "))));
    } else if (fired === 0) side.append(el("p", { class: "removed" }, "Did not fire."));
    return side;
  };

  const drawDetail = () => {
    const query = state.chosen;
    if (!query) { $("detail").replaceChildren(el("p", { class: "facts" }, "Choose a query.")); return; }
    const shown = [state.right, state.left].map((system) => query.by[system]).find((result) => result && result[2].length);
    const facts = [query.id, query.tier, query.excluded.length ? `true topic: ${query.excluded.join(", ")}` : "excludes nothing, by its record"];
    const swatch = (color, text) => { const box = el("i"); box.style.background = `var(${color})`; return el("span", {}, box, text); };
    $("detail").replaceChildren(
      struck(query, shown),
      el("p", { class: "facts" }, facts.filter(Boolean).join(" · ")),
      el("div", { class: "sides" }, drawSide(query, state.left, state.right, "right"), drawSide(query, state.right, state.left, "left")),
      el("p", { class: "key" }, swatch("--good", "wanted"), swatch("--bad", "excluded"), swatch("--bar", "evidence for the topic"),
        el("span", {}, "↑↓ places moved from the frozen rank")),
    );
  };

  let current = [];
  const draw = () => {
    const scope = inScope();
    current = state.outcome === "all" ? scope : scope.filter((query) => outcome(query) === state.outcome);
    if (!current.includes(state.chosen)) state.chosen = current[0] || null;
    drawOutcomes(scope);
    drawList(current);
    drawDetail();
  };
  const restart = () => { state.shown = PAGE; draw(); };
  const choose = (query) => {
    state.chosen = query;
    const index = current.indexOf(query);
    [...$("list").children].forEach((item, place) => item.classList.toggle("chosen", place === index));
    drawDetail();
    $("detail").scrollTop = 0;
  };

  const openRun = (place) => {
    const { systems, queries, baseline } = runs[place];
    const left = Math.max(0, systems.indexOf(baseline));
    let right = systems.indexOf("excise");
    if (right < 0) right = systems.findIndex((name) => name.startsWith("excise"));
    if (right < 0 || right === left) right = systems.length - 1;
    Object.assign(state, { run: place, tier: "", left, right, chosen: null, outcome: "all" });
    const tiers = [...new Set(queries.map((query) => query.tier).filter(Boolean))].sort();
    fill($("tier"), [["", "all"], ...tiers.map((tier) => [tier, tier])], "");
    const options = systems.map((name, number) => [number, name]);
    fill($("left"), options, left);
    fill($("right"), options, right);
    restart();
  };

  fill($("run"), runs.map((one, place) => [place, one.label]), 0);
  $("run").addEventListener("change", (event) => openRun(Number(event.target.value)));
  $("tier").addEventListener("change", (event) => { state.tier = event.target.value; restart(); });
  $("left").addEventListener("change", (event) => { state.left = Number(event.target.value); restart(); });
  $("right").addEventListener("change", (event) => { state.right = Number(event.target.value); restart(); });
  $("search").addEventListener("input", (event) => { state.words = event.target.value; restart(); });
  $("list").addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const next = current[current.indexOf(state.chosen) + step];
    if (next) {
      choose(next);
      const item = $("list").querySelector(".chosen");
      if (item) item.scrollIntoView({ block: "nearest" });
    }
  });
  openRun(0);
})();
