// What sessions used, and what that costs.

// cost is the list price of what a session used, as status --wide has it: * where models
// have no price.
export function cost(u) {
  if (!u) return "";
  if (u.cost === null) return u.total ? "unpriced*" : "";
  return `$${u.cost.toFixed(2)}${u.unpriced ? "*" : ""}`;
}

export const priced = (u) => (u?.unpriced ? `${u.unpriced} tokens are of models without a price` : "");

export const used = (u) =>
  `${u.total}: ${u.input} in, ${u.cache_read} read from a cache, ` +
  `${u.cache_write + u.cache_write_1h} written to it, ${u.output} out`;
