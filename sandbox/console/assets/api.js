// Talks to the page's own server. What goes wrong is a Trouble with a sentence and its remedy.

export class Trouble extends Error {
  constructor(sentence, remedy = "") {
    super(remedy ? `${sentence} ${remedy}` : sentence);
  }
}

async function answer(request) {
  let response;
  try {
    response = await request;
  } catch {
    throw new Trouble("The console's server does not answer.", "Is it still running in its terminal?");
  }
  let found;
  try {
    found = await response.json();
  } catch {
    throw new Trouble(`The console's server answered ${response.status}.`, "Its terminal says why.");
  }
  if (!response.ok) throw new Trouble(found.error ?? `The server answered ${response.status}.`, found.remedy ?? "");
  return found;
}

// The token of this start of the console, from the page's own address.
const token = { "x-console-token": new URLSearchParams(location.search).get("token") ?? "" };

export const get = (name, given = {}) => answer(fetch(`/api/${name}?${new URLSearchParams(given)}`, { headers: token }));

export const post = (name, given = {}) =>
  answer(fetch(`/api/${name}`, { method: "POST", headers: { ...token, "content-type": "application/json" }, body: JSON.stringify(given) }));
