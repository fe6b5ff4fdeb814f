// What the page shows of sessions, plans and events, as plain values: nothing here touches
// the document. Agents' text passes through as text, and is put into the page as text.

export * from "./model/costs.mjs";
export * from "./model/diff.mjs";
export * from "./model/events.mjs";
export * from "./model/fleet.mjs";
export * from "./model/landing.mjs";
export * from "./model/report.mjs";
export * from "./model/route.mjs";
export * from "./model/sessions.mjs";
export * from "./model/times.mjs";
export * from "./model/verbs.mjs";
export * from "./model/words.mjs";
