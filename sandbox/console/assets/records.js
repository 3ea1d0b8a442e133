// The records by state, with the time to their lease's end and their expiry; and the life of the one that is chosen.

import { get } from "./api.js";
import { $, apart, clock, fill, h, json } from "./dom.js";

const STATES = ["running", "stuck", "succeeded", "reclaimable", "failed", "expired"];
let chosen = null, shown = null, last = null, skew = 0, mayWrite = () => false;

export function start(writes) {
  mayWrite = writes;
  fill($("filters"), ["all", ...STATES].map((state) => h("button", { type: "button", "data-state": state, "aria-pressed": state === "all",
    onclick: () => choose(state === "all" ? null : state) }, `${state} `, h("span", { class: "count" }))));
  setInterval(tick, 1000);
}

export async function refresh() {
  last = await get("records");
  skew = last.now - Date.now();
  draw();
  if (chosen) await life(chosen);
}

export async function follow(key) {
  chosen = key;
  await refresh();
}

function choose(state) {
  shown = state;
  for (const button of $("filters").children) button.setAttribute("aria-pressed", String(button.dataset.state === (state ?? "all")));
  draw();
}

function draw() {
  const counts = Object.groupBy(last.records, (record) => record.state);
  for (const button of $("filters").children) {
    const state = button.dataset.state;
    fill(button.querySelector(".count"), String(state === "all" ? last.records.length : counts[state]?.length ?? 0));
  }
  const records = last.records.filter((record) => !shown || record.state === shown);
  const ledger = last.records.some((record) => "effects" in record);
  $("effects-head").hidden = !ledger;
  const part = last.whole ? "" : " in the first megabyte of the table; this page reads no more";
  fill($("records-count"), `${last.count} record${last.count === 1 ? "" : "s"}${part}${last.count > last.records.length ? `; the newest ${last.records.length} are shown` : ""}.`
    + (last.unreadable ? ` ${last.unreadable} items cannot be read: see idem doctor.` : ""));
  $("table").hidden = !records.length;
  $("none").hidden = Boolean(records.length);
  fill($("none"), last.records.length ? `No record is ${shown}.` : `The table has no records yet.${mayWrite() ? " Claim a key, or deliver a sample." : ""}`);
  const focused = document.activeElement?.dataset?.key;
  fill($("rows"), records.map((record) => row(record, ledger)));
  if (focused) [...$("rows").querySelectorAll("button")].find((one) => one.dataset.key === focused)?.focus({ preventScroll: true });
}

function row(record, ledger) {
  return h("tr", { class: record.key === chosen ? "chosen" : "" },
    h("td", {}, h("button", { type: "button", class: "key", "data-key": record.key, "aria-pressed": record.key === chosen, onclick: () => follow(record.key) }, record.key)),
    h("td", {}, h("span", { class: `state ${record.state}` }, record.state)),
    h("td", { class: "num" }, record.attempt),
    ledger ? h("td", { class: "num" }, record.effects || "–") : null,
    h("td", { "data-ends": record.leaseMs ?? "" }, record.leaseMs ? left(record.leaseMs) : "–"),
    h("td", { "data-ends": record.expiresMs ?? "" }, record.expiresMs ? left(record.expiresMs) : "never"));
}

function left(ms) {
  const distance = ms - Date.now() - skew;
  return distance >= 0 ? `in ${apart(distance)}` : `${apart(-distance)} ago`;
}

function tick() {
  for (const cell of $("rows").querySelectorAll("[data-ends]")) if (cell.dataset.ends) cell.textContent = left(Number(cell.dataset.ends));
}

async function life(key) {
  const found = await get("life", { key });
  if (key !== chosen) return;
  const open = $("life").querySelector("details")?.open ?? false;
  fill($("life"),
    h("h3", {}, found.key),
    h("p", {}, h("span", { class: `state ${found.state}` }, found.state), " ", found.says),
    h("p", { class: "next" }, found.next),
    h("ol", { class: "timeline" }, found.timeline.map((moment) => h("li", { class: moment.kind.replaceAll(" ", "-") },
      h("time", {}, clock(moment.at)), h("b", {}, moment.kind), h("span", {}, moment.says)))),
    found.item ? h("details", { open }, h("summary", {}, "The item, as the engine stores it"), h("pre", { tabindex: 0 }, json(found.item))) : null);
}
