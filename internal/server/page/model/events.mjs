// Events as they are listed.

// line is an event as it is listed.
export function line(e) {
  const words = [e.type.replaceAll("_", " ")];
  if (e.action) words.push(e.action);
  if (e.old || e.new) words.push(`${e.old ?? ""} → ${e.new ?? ""}`);
  if (e.reason) words.push(e.reason.replaceAll("_", " "));
  if (e.by) words.push(`by ${e.by}`);
  if (e.detail) words.push(e.detail);
  return words.join("  ");
}
