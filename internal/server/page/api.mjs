// Requests to the hub. The cookie of the login goes with them.
export class Refused extends Error {
  constructor(status, error) {
    super([error.message, error.next].filter(Boolean).join("\n"));
    this.status = status;
    this.code = error.code;
    this.said = error.message;
    this.next = error.next ?? "";
    this.send = error.send ?? "";
    this.unsaved = error.unsaved ?? "";
  }
}

// ask returns a document of the hub. The browser keeps documents, and asks each time whether they are still valid.
export async function ask(path, body, method = body === undefined ? "GET" : "POST") {
  const options = { method, cache: "no-cache", redirect: "error", credentials: "same-origin" };
  if (body !== undefined) {
    options.headers = { "Content-Type": "application/json" };
    options.body = JSON.stringify(body);
  }
  const response = await fetch(path, options);
  if (response.ok) return response.json();
  const said = await response.json().catch(() => ({ error: { message: response.statusText, next: "", code: "" } }));
  throw new Refused(response.status, said.error);
}

export const of = (address) => `/v1/sessions/${encodeURIComponent(address)}`;
