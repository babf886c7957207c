import { byId, later, make } from "./dom.js";
import { detect } from "./api.js";
import { holds } from "./state.js";

/**
 * The search field. While its text is read, what it excludes is struck through: a copy of the text lies over the field,
 * transparent but for the strokes. The copy also gives the field its height.
 */
export class QueryBox {
  constructor({ onRead, onTrouble }) {
    this.field = byId("query");
    this.reading = byId("reading");
    this.read = { query: "", topics: [] };
    this.onRead = onRead;
    this.onTrouble = onTrouble;
    this.dropped = [];
    this.readSoon = later(150, () => this.readNow().catch(onTrouble));
    this.field.addEventListener("input", () => {
      this.draw();
      this.readSoon();
    });
    this.field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.isComposing) return;
      event.preventDefault();
      this.field.form.requestSubmit();
    });
  }

  get query() {
    return this.field.value.replace(/\s*[\r\n]+\s*/g, " ").trim();
  }

  set query(text) {
    this.field.value = text;
    this.draw();
  }

  /** What the detector reads in the present text; asked once for each text. */
  async readNow() {
    this.readSoon.cancel();
    const query = this.query;
    if (query === this.read.query) return this.read.topics;
    this.asking?.abort();
    this.asking = new AbortController();
    try {
      this.know(query, query ? (await detect(query, this.asking.signal)).topics : []);
    } catch (error) {
      if (error.name !== "AbortError") throw error;
    }
    return this.read.topics;
  }

  know(query, topics) {
    this.read = { query, topics };
    this.draw();
    this.onRead(topics);
  }

  strike(dropped) {
    this.dropped = dropped;
    this.draw();
  }

  /** Offsets count characters, not the units of a JavaScript string, and hold for the text as it was sent. */
  draw() {
    const shown = this.field.value;
    const parts = [];
    if (this.read.query && shown.trim() === this.read.query) {
      const characters = Array.from(shown);
      let done = characters.length - Array.from(shown.trimStart()).length;
      const shift = done;
      parts.push(characters.slice(0, done).join(""));
      const spans = this.read.topics.filter(({ text, start }) => start !== null && !holds(this.dropped, text));
      spans.sort((one, other) => one.start - other.start);
      for (const { start, end } of spans) {
        if (start + shift < done) continue;
        parts.push(characters.slice(done, start + shift).join(""));
        parts.push(make("s", {}, characters.slice(start + shift, end + shift).join("")));
        done = end + shift;
      }
      parts.push(characters.slice(done).join(""));
    } else {
      parts.push(shown);
    }
    this.reading.replaceChildren(...parts, "\u200b"); // an empty last line has a height, too
  }
}
