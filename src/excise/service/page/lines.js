/** Lines between the two rankings. They are decoration: every row says in words where it was and where it is. */

const SVG = "http://www.w3.org/2000/svg";

export class Lines {
  constructor(board) {
    this.board = board;
    this.svg = document.createElementNS(SVG, "svg");
    this.svg.setAttribute("class", "lines");
    this.svg.setAttribute("aria-hidden", "true");
    this.pairs = [];
    new ResizeObserver(() => this.draw()).observe(board);
    for (const [type, lit] of [["pointerover", true], ["pointerout", false], ["focusin", true], ["focusout", false]]) {
      board.addEventListener(type, (event) => this.light(event.target.closest?.("[data-place]"), lit));
    }
  }

  /** pairs: [{from: element, to: element, fate}]; both ends belong to one document. */
  join(pairs) {
    this.pairs = pairs;
    pairs.forEach((pair, place) => {
      for (const end of [pair.from, pair.to]) end.dataset.place = place;
      pair.path = document.createElementNS(SVG, "path");
      pair.path.setAttribute("class", `line ${pair.fate}`);
    });
    this.svg.replaceChildren(...pairs.map((pair) => pair.path));
    this.board.append(this.svg);
    this.draw();
  }

  draw() {
    const origin = this.board.getBoundingClientRect();
    const falling = this.pairs.filter((pair) => pair.fate !== "kept");
    for (const pair of this.pairs) {
      const { from, to, path, fate } = pair;
      const start = from.getBoundingClientRect();
      const end = to.querySelector(".rank").getBoundingClientRect();
      const x = start.right - origin.left + 2;
      const y = start.top + start.height / 2 - origin.top;
      const u = to.getBoundingClientRect().left - origin.left - 2;
      const v = end.top + end.height / 2 - origin.top;
      // Each line that falls has a lane of its own; the first in the outermost, so that they do not cross.
      const lane = x + (u - x) * (0.2 + (0.6 * (falling.length - falling.indexOf(pair))) / (falling.length + 1));
      path.setAttribute("d", fate === "kept" ? curve(x, y, u, v) : step(x, y, lane, u, v));
    }
  }

  light(row, lit) {
    const pair = row && this.pairs[Number(row.dataset.place)];
    if (!pair) return;
    for (const part of [pair.from, pair.to, pair.path]) part.classList.toggle("lit", lit);
    if (lit) this.svg.append(pair.path); // the last one lies on top
  }
}

function curve(x, y, u, v) {
  const bend = (u - x) * 0.55;
  return `M${x} ${y}C${x + bend} ${y} ${u - bend} ${v} ${u} ${v}`;
}

function step(x, y, lane, u, v) {
  const round = Math.min(10, lane - x, u - lane, Math.abs(v - y) / 2);
  const down = v > y ? round : -round;
  return `M${x} ${y}H${lane - round}q${round} 0 ${round} ${down}V${v - down}q0 ${down} ${round} ${down}H${u}`;
}
