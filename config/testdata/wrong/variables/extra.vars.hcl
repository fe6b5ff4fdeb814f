levl = 3

oops {
}
