// Every sample with its button, and what came of each press.

import { get, post } from "./api.js";
import { $, clock, fill, h } from "./dom.js";

export const OUTCOMES = { FirstRuns: "first run", Replays: "replay", Held: "held", PermanentFailures: "failed for good", StoredFailures: "stored failure",
  ReplayedFailures: "stored failure", Malformed: "malformed", Mismatches: "mismatch", TransientFailures: "to be tried again", Unrecorded: "not recorded", LostClaims: "lost its claim", Unsettled: "for a person" };

export function start(place, whenDone) {
  if (!place.samples.length) {
    fill($("samples"), h("li", { class: "empty" }, "Only a deployed stack has handlers to deliver to: start with --stack."));
    return;
  }
  fill($("samples"), place.samples.map((sample) => h("li", {},
    h("span", { class: "name" }, sample.name),
    h("span", { class: "to" }, sample.to ? `to ${sample.to}` : "no deployed consumer: is refused"),
    h("button", { type: "button", disabled: !place.writes, "aria-label": `Deliver ${sample.name}`, onclick: (event) => deliver(event, sample, whenDone) },
      "Deliver"))));
}

async function deliver(event, sample, whenDone) {
  const button = event.currentTarget;
  if (!$("times").reportValidity()) return;
  button.disabled = true;
  try {
    await post("deliver", { sample: sample.name, times: $("times").valueAsNumber, atOnce: $("at-once").checked });
  } catch (trouble) {
    fill($("runs"), h("li", { class: "bad" }, trouble.message));
  } finally {
    button.disabled = false;
    whenDone();
  }
}

export async function refresh() {
  const runs = await get("deliveries");
  fill($("runs"), runs.slice(0, 6).map(draw));
  return runs.some((run) => !run.done || (run.keys.length && !Object.keys(run.outcomes).length));
}

function draw(run) {
  const counts = Object.entries(run.outcomes).map(([name, count]) => h("span", { class: `tag ${name}` }, `${count} × ${OUTCOMES[name] ?? name}`));
  const replies = new Map();
  for (const one of run.sent) {
    const text = one.status ? `${one.status}${one.replayed ? " replayed" : ""} ${one.said}` : one.said;
    replies.set(text, (replies.get(text) ?? 0) + 1);
  }
  const posted = run.sent.some((one) => one.status) || !run.keys.length;
  return h("li", {},
    h("p", {}, h("b", {}, run.sample), ` × ${run.times}, ${clock(run.at)} `, counts.length ? counts : h("span", { class: "tag" }, run.error ? "failed" : run.keys.length ? "on its way …" : run.done ? "sent" : "on its way …")),
    run.error ? h("p", { class: "bad" }, run.error) : null,
    run.effects?.length ? h("p", { class: "effects" }, "Ledger: ", run.effects.map(effect)) : null,
    run.effects && !run.keys.length && run.done ? h("p", { class: "effects" }, "Ledger: unchanged.") : null,
    posted ? [...replies].slice(0, 3).map(([text, count]) => h("p", { class: "reply" }, `${count} × ${text}`)) : null);
}

function effect({ key, before, after }) {
  const more = after - before;
  return h("span", {}, `${key.split("#").slice(1).join("#")}: `, h("b", {}, `${after} effect${after === 1 ? "" : "s"}`), more ? ` (+${more}) ` : " (no new one) ");
}
