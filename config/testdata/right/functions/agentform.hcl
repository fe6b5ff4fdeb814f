locals {
  text = join(",", [
    upper("a"), lower("B"), title("cd"), trimspace(" e "), replace("f.g", ".", "-"), replace("h1", "/[0-9]/", "i"),
    format("%03d", 7), split("/", "j/k")[1], substr("lmn", 1, 1), regex("[o-q]+", "xopqx"), strrev("sr"),
    trimprefix("t-u", "t-"), trimsuffix("v-w", "-w"), jsonencode({ x = [1, true, null] }), jsondecode("{\"y\":\"z\"}").y,
    coalesce("", null, "c"), tostring(max(1, 2, 3)), tostring(min(1, 2)), formatdate("YYYY", "2026-01-02T03:04:05Z"),
    tostring(startswith("abc", "ab")), tostring(endswith("abc", "b")), tostring(strcontains("abc", "b")), chomp("x\n"),
  ])
  lists = jsonencode([
    concat(["a"], ["b"]), flatten([["a"], ["b", ["c"]]]), distinct(["a", "a"]), reverse([1, 2]), slice(["a", "b", "c"], 1, 2),
    sort(["b", "a"]), range(3), compact(["a", "", null]), chunklist([1, 2, 3], 2), contains(["a"], "a"), element(["a", "b"], 3),
    length([1, 2]), length("añ"), length({ a = 1 }), length(toset(["a", "a"])),
  ])
  maps = jsonencode([
    keys({ b = 1, a = 2 }), values({ b = 1, a = 2 }), lookup({ a = 1 }, "b", 2), merge({ a = 1 }, { b = 2 }), zipmap(["a"], [1]),
    tomap({ a = 1 }), tolist(toset(["b", "a"])), setunion(["a"], ["b"]), setintersection(["a"], ["a", "b"]),
    setsubtract(["a", "b"], ["a"]), setproduct(["a"], ["b"]), try(tonumber("x"), 0), can(tonumber("x")),
    fileset("prompts", "**/*.md"), fileset(".", "prompts/*.md"), fileset("${path.module}/prompts", "*.txt"), csvdecode("a,b\n1,2"),
  ])
  more = jsonencode([
    alltrue([true, "true"]), alltrue([true, false]), alltrue([]), anytrue([false, true]), anytrue([]), sum([1, 2.5]), sum([]),
    one(["a"]), one([]), one(toset(["b"])), basename("a/b.md"), dirname("a/b.md"), base64encode("añ"), base64decode("YcOx"), sha256("x"),
  ])
}

session "api" {
  agent  = "claude"
  branch = "api"
  labels = { text = local.text, lists = local.lists, maps = local.maps, more = local.more, file = file("prompts/a.md") }
}
