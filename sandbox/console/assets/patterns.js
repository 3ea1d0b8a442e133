// Claim, record, read: each with what went over the wire.

import { get, post } from "./api.js";
import { $, fill, json } from "./dom.js";

export function start(whenDone) {
  $("patterns-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    const what = event.submitter?.dataset.do ?? "claim";
    const identity = $("identity").value;
    try {
      show(await send(what, identity));
    } catch (trouble) {
      said(trouble.message, "bad");
      $("wire").hidden = true;
    }
    whenDone(`idem.console#${identity}`);
  });
}

function send(what, identity) {
  if (what === "claim") return post("claim", { identity });
  if (what === "read") return get("read", { identity });
  return post("record", { identity, outcome: what });
}

function show({ says, exchanges }) {
  const last = exchanges.at(-1);
  const refused = exchanges.some((one) => one.error);
  said(says, refused ? "refused" : "good");
  $("wire").hidden = !last;
  if (!last) return;
  const more = exchanges.length > 1;
  fill($("wire-request-title"), more ? `${exchanges.length} requests` : `${last.operation} request`);
  fill($("wire-response-title"), more ? "Answers" : last.error ?? `Answer, ${(last.ended - last.started).toFixed(0)} ms`);
  $("wire-request").textContent = exchanges.map((one) => (more ? `${one.operation} ` : "") + json(one.request)).join("\n\n");
  $("wire-response").textContent = exchanges.map((one) => (more && one.error ? `${one.error} ` : "") + json(one.response)).join("\n\n");
}

function said(text, kind) {
  $("patterns-said").className = `said block ${kind}`;
  fill($("patterns-said"), text);
}
