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
  digests = jsonencode([
    md5("x"), sha1("x"), sha512("x"), base64sha256("x"), base64sha512("x"), filemd5("prompts/a.md"), filesha1("prompts/a.md"),
    filesha256("prompts/a.md"), filesha512("prompts/a.md"), filebase64("prompts/a.md"), filebase64sha256("prompts/a.md"),
    filebase64sha512("prompts/a.md"), uuidv5("dns", "www.example.com"), uuidv5("6ba7b810-9dad-11d1-80b4-00c04fd430c8", "www.example.com"),
  ])
  terraform = jsonencode([
    fileexists("prompts/a.md"), fileexists("prompts/none.md"), urlencode("a b/ñ"), yamldecode("a: [1, two]\nb: &x {c: ~}\nd: *x"),
    yamlencode({ a = ["b", 1], c = null }), templatestring("%%{ for s in list }<$${upper(s)}>%%{ endfor }", { list = ["a", "b"] }),
    timecmp("2026-01-02T03:04:05Z", "2026-01-02T05:04:05+02:00"), timecmp("2026-01-02T03:04:05Z", "2026-01-02T03:04:06Z"),
    index(["a", "b", "a"], "b"), matchkeys(["i-1", "i-2", "i-3"], ["a", "b", "a"], ["a"]), matchkeys(["x"], ["a"], []),
    transpose({ a = ["1", "2"], b = ["2", "3"] }), lookup({ a = 1 }, "a"), lookup(tomap({ a = 1 }), "a"), lookup(tomap({ a = 1 }), "b", 2),
    issensitive("a"), issensitive(sensitive("a")), nonsensitive(sensitive("shown")), path.root == path.module, try(1 / 0, "caught"), 7 % 4,
    templatefile("prompts/t.tpl", { name = "x" }),
  ])
}

session "api" {
  agent  = "claude"
  branch = "api"
  labels = { text = local.text, lists = local.lists, maps = local.maps, more = local.more, digests = local.digests, terraform = local.terraform, file = file("prompts/a.md") }
}
