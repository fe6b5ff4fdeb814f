// The views as addresses of the page: #/?q=is:asks, #/wall?q=role:builder, #/plan, #/s/ADDRESS/TAB.

// link is the address of a view of a session.
export const link = (s, tab = "terminal") => `#/s/${encodeURIComponent(s.address)}/${tab}`;

// route reads an address of the page. What it does not know is the fleet.
export function route(hash) {
  const [path, query = ""] = hash.replace(/^#/, "").split("?");
  const [, view = "", name = "", tab = ""] = path.split("/");
  const address = decoded(name);
  if (view === "s" && address) return { view: "session", address, tab: tab || "terminal" };
  if (["plan", "needs", "report", "usage"].includes(view)) return { view };
  const more = new URLSearchParams(query);
  const get = (name) => more.get(name) ?? "";
  const shown = view === "wall" ? "wall" : "fleet";
  return { view: shown, filter: get("q"), sort: get("sort"), descending: get("desc") === "1", group: get("group") };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

// fleetLink is the address of the fleet, or of the wall, as it is filtered, sorted and grouped.
export function fleetLink({ view, filter, sort, descending, group }) {
  const more = new URLSearchParams();
  if (filter) more.set("q", filter);
  if (sort) more.set("sort", sort);
  if (descending) more.set("desc", "1");
  if (group) more.set("group", group);
  const text = more.toString();
  const place = view === "wall" ? "#/wall" : "#/";
  return text ? `${place}?${text}` : place;
}
