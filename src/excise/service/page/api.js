/** The service, as the page calls it. Addresses are relative: the page works under any prefix. */

const KEY = "excise-key";

export class Refused extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

export function useKey(key) {
  sessionStorage.setItem(KEY, key);
}

async function call(address, { body, signal } = {}) {
  const headers = {};
  const key = sessionStorage.getItem(KEY);
  if (key) headers.Authorization = `Bearer ${key}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let response;
  try {
    const method = body === undefined ? "GET" : "POST";
    response = await fetch(address, { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body) });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, "The service cannot be reached. Is it still running?");
  }
  if (response.ok) return response.json();
  const problem = await response.json().catch(() => ({}));
  throw new Refused(response.status, problem.detail || `The service answered with an error (${response.status}).`);
}

export const about = () => call("v1/about");
export const detect = (query, signal) => call("v1/detect", { body: { query }, signal });
export const search = (asked, signal) => call("v1/search", { body: asked, signal });
export const feedback = (opinion) => call("v1/feedback", { body: opinion });

const texts = new Map();

/** The text of a document that the answer named without it. Each is fetched once. */
export async function documentText(id) {
  if (!texts.has(id)) {
    const answer = await call(`v1/documents?${new URLSearchParams({ id })}`);
    if (!answer.documents.length) throw new Refused(404, "This document is no longer in the index.");
    texts.set(id, answer.documents[0].text);
  }
  return texts.get(id);
}
