// Starts the parts of the page, and looks again every two seconds while it is visible.

import * as activity from "./activity.js";
import { get } from "./api.js";
import * as deliveries from "./deliveries.js";
import { $, fill, h } from "./dom.js";
import * as patterns from "./patterns.js";
import * as race from "./race.js";
import * as records from "./records.js";

const EVERY_MS = 2000;
let place = null, looking = false;

async function look() {
  if (looking) return;
  looking = true;
  try {
    if (!place) await arrive();
    const looks = [records.refresh()];
    if (place.samples.length) looks.push(deliveries.refresh(), activity.refresh());
    await Promise.all(looks);
    $("trouble").hidden = true;
    document.body.classList.remove("stale");
  } catch (trouble) {
    $("trouble").hidden = false;
    fill($("trouble"), trouble.message);
    document.body.classList.add("stale");
  } finally {
    looking = false;
  }
}

async function arrive() {
  place = await get("place");
  fill($("place"), `${place.name} · ${place.table} · ${place.where}`);
  $("mode").hidden = false;
  $("mode").classList.toggle("reads", !place.writes);
  fill($("mode"), place.writes ? "may change this table" : "only looks");
  if (!place.writes) {
    for (const control of document.querySelectorAll("#race-form button, #patterns-form button:not([data-do=read])")) control.disabled = true;
    fill($("race-said"), "This console only looks: start it with --allow-writes to race on this table.");
    fill($("patterns-said"), "This console only looks: start it with --allow-writes to claim and record.");
  }
  if (!place.samples.length) fill($("chart"), h("p", { class: "empty" }, "Only a deployed stack has functions whose logs could tell: start with --stack."));
  deliveries.start(place, look);
}

records.start(() => place?.writes);
race.start(look);
patterns.start((key) => records.follow(key).catch(() => look()));
look();
setInterval(() => document.visibilityState === "visible" && look(), EVERY_MS);
document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && look());
