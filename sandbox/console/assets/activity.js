// How deliveries ended over the last hour, as stacked columns.

import { get } from "./api.js";
import { OUTCOMES } from "./deliveries.js";
import { $, clock, fill, h, svg } from "./dom.js";

const WIDTH = 600, HEIGHT = 180, FOOT = 20, SIDE = 28;
const SERIES = [["first runs", "first"], ["replays", "replay"], ["held", "held"], ["failures", "failure"]];

export async function refresh() {
  const chart = await get("activity");
  fill($("legend"), SERIES.map(([name, kind]) => h("span", { class: kind }, h("i"), `${name} `, h("b", {}, chart.totals[name]))));
  fill($("recent"), chart.recent.map((line) => h("li", {}, h("time", {}, clock(line.at)),
    h("span", { class: `tag ${line.outcome}` }, OUTCOMES[line.outcome] ?? line.outcome),
    h("span", { class: "name" }, line.key ?? line.error ?? "without a key"), h("span", { class: "to" }, line.attempt ? `attempt ${line.attempt}` : ""))));
  const columns = chart.series["first runs"].map((_, index) => SERIES.map(([name]) => chart.series[name][index]));
  const most = Math.max(...columns.map((column) => column.reduce((sum, count) => sum + count, 0)));
  if (!most) {
    fill($("chart"), h("p", { class: "empty" }, "No delivery in the last hour."));
    return;
  }
  fill($("chart"), draw(chart, columns, most));
}

function draw(chart, columns, most) {
  const tall = HEIGHT - FOOT - 8, wide = (WIDTH - SIDE) / columns.length;
  const summary = SERIES.map(([name]) => `${chart.totals[name]} ${name}`).join(", ");
  const picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `Deliveries: ${summary}` });
  for (const level of [...new Set([0, Math.ceil(most / 2), most])]) {
    const y = 8 + tall - (tall * level) / most;
    picture.append(svg("line", { x1: SIDE, x2: WIDTH, y1: y, y2: y, class: "grid" }), text(SIDE - 6, y + 4, String(level), "end"));
  }
  columns.forEach((column, index) => {
    let y = 8 + tall;
    column.forEach((count, kind) => {
      if (!count) return;
      const high = (tall * count) / most;
      y -= high;
      const bar = svg("rect", { x: SIDE + index * wide + 1, y, width: Math.max(2, wide - 2), height: Math.max(1, high - 1), rx: 1.5, class: SERIES[kind][1] });
      const title = svg("title");
      title.textContent = `${clock(chart.begin + index * chart.width)}: ${count} ${SERIES[kind][0]}`;
      bar.append(title);
      picture.append(bar);
    });
  });
  picture.append(text(SIDE, HEIGHT - 4, clock(chart.begin), "start"), text(WIDTH, HEIGHT - 4, clock(chart.begin + columns.length * chart.width), "end"));
  return picture;
}

function text(x, y, words, anchor) {
  const made = svg("text", { x, y, "text-anchor": anchor });
  made.textContent = words;
  return made;
}
