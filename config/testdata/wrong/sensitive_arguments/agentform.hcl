variable "tok" {
  sensitive = true
  default   = "hunter22"
}

output "a" {
  value = jsondecode(var.tok)
}

output "b" {
  value = yamldecode("${var.tok}: [")
}

output "c" {
  value = tonumber(upper(var.tok))
}

output "d" {
  value = [
    regex(upper(var.tok), "("), regex("(", var.tok), regex("${upper(var.tok)}(", "x"), parseint(substr(var.tok, 0, 3), 10),
    formatdate(upper(var.tok), "2026-01-02T03:04:05Z"), formatdate("YYYY", upper(var.tok)), timeadd(upper(var.tok), "1h"),
    timeadd("2026-01-02T03:04:05Z", upper(var.tok)), timecmp(upper(var.tok), "2026-01-02T03:04:05Z"),
  ]
}

output "e" {
  value = [
    base64decode(upper(var.tok)), templatefile(upper(var.tok), {}), templatestring("$${${upper(var.tok)}}", {}), file(upper(var.tok)),
    fileexists("../${upper(var.tok)}"), filesha256(upper(var.tok)), fileset(upper(var.tok), "*"), tobool(upper(var.tok)),
    format("%d", upper(var.tok)), csvdecode("a,b\n${upper(var.tok)}"), lookup({}, upper(var.tok)), uuidv5(upper(var.tok), "a"),
    env(upper(var.tok)), index([], upper(var.tok)), replace("a", "/${upper(var.tok)}(/", ""), zipmap([upper(var.tok)], []),
    templatefile("t.tpl", { s = var.tok }), one([upper(var.tok), "b"]), sum([upper(var.tok)]), tolist(upper(var.tok)),
  ]
}

output "f" {
  value = { for n in [1, 2] : upper(var.tok) => n }
}
