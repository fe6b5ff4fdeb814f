Hello ${name}
