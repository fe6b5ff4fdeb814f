agentform {
  price_file = "prices.json"
}

price "a" {
  input  = -1
  output = "much"
}

price "b" {
  output = 1
  input  = 1
  long {
    input  = 2
    output = 2
  }
  long {
    above  = 5
    input  = 2
    output = 2
  }
  long {
    above  = 5
    input  = 3
    output = 3
  }
}

price "b" {
  input  = 1
  output = 1
}

price "c" {
  inptu = 1
}

price {
  input = 1
}
