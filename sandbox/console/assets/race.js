// The race, drawn on one scale of time: who was on the wire when, who won, and what the others got.

import { post } from "./api.js";
import { $, fill, h, json } from "./dom.js";

const SLOWEST_S = 1.6; // the whole race is shown in this time, however fast it was

export function start(whenDone) {
  $("race-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = event.submitter ?? $("race-form").querySelector("button");
    button.disabled = true;
    $("race-said").className = "said";
    fill($("race-said"), "On the line …");
    try {
      draw(await post("race", { racers: $("racers").valueAsNumber }));
    } catch (trouble) {
      $("race-said").className = "said bad";
      fill($("race-said"), trouble.message);
    } finally {
      button.disabled = false;
      whenDone();
    }
  });
}

function draw(race) {
  const spans = race.racers.map((racer) => [racer.exchanges[0].started, racer.exchanges.at(-1).ended]);
  const begin = Math.min(...spans.map(([from]) => from));
  const whole = Math.max(...spans.map(([, to]) => to)) - begin;
  const winner = race.racers.find((racer) => racer.won);
  const slow = SLOWEST_S / whole;
  fill($("lines"), race.racers.map((racer, index) => drawRacer(racer, spans[index], { begin, whole, winner, slow })), scale(whole));
  $("race-said").className = race.fair ? "said good" : "said bad";
  fill($("race-said"), race.fair
    ? `Racer ${winner.number} won; ${race.racers.length - 1} were refused by its record, all within ${whole.toFixed(0)} ms.`
    : `${race.winners} claims won: this table does not keep the promise.`);
}

function drawRacer(racer, [from, to], { begin, whole, winner, slow }) {
  const bar = h("span", { class: racer.won ? "bar won" : "bar" });
  bar.style.left = `${(100 * (from - begin)) / whole}%`;
  bar.style.width = `${Math.max(0.6, (100 * (to - from)) / whole)}%`;
  bar.style.animationDelay = `${(from - begin) * slow}s`;
  bar.style.animationDuration = `${Math.max(0.05, (to - from) * slow)}s`;
  const last = racer.exchanges.at(-1);
  const verdict = h("span", { class: racer.won ? "verdict won" : "verdict" },
    h("b", {}, racer.won ? "claimed" : "refused"),
    racer.won ? ` · token ${racer.token.slice(0, 8)}` : ` · lost to racer ${winner && racer.lostTo === winner.token ? winner.number : "?"}`);
  verdict.style.animationDelay = `${(to - begin) * slow}s`;
  const details = h("details", { class: racer.won ? "racer won" : "racer" },
    h("summary", {},
      h("span", { class: "number" }, `Racer ${racer.number}`),
      h("span", { class: "track", "aria-hidden": "true" }, bar),
      h("span", { class: "ms" }, `${(to - from).toFixed(0)} ms`),
      verdict),
    h("div", { class: "wire" },
      h("figure", {}, h("figcaption", {}, `${last.operation} request`), h("pre", { tabindex: 0 }, json(last.request))),
      h("figure", {}, h("figcaption", {}, last.error ? `${last.error}, with the item it lost to` : "Answer: applied"),
        h("pre", { tabindex: 0 }, json(last.response)))));
  return h("li", {}, details);
}

function scale(whole) {
  const marks = [0, 0.25, 0.5, 0.75, 1].map((part) => {
    const mark = h("span", {}, `${(part * whole).toFixed(0)} ms`);
    mark.style.left = `${100 * part}%`;
    return mark;
  });
  return h("li", { class: "scale", "aria-hidden": "true" }, h("span"), h("span", { class: "track" }, marks), h("span"), h("span"));
}
