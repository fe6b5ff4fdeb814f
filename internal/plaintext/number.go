package plaintext

import (
	"strconv"
	"strings"
)

// Thousands returns a number with commas: 12,345.
func Thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Dollars returns an amount in USD: $1,234.50.
func Dollars(n float64) string {
	if n > 0 && n < 0.005 {
		return "<$0.01"
	}
	whole, cents, _ := strings.Cut(strconv.FormatFloat(n, 'f', 2, 64), ".")
	x, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		return "$" + whole // more than anything costs
	}
	return "$" + Thousands(x) + "." + cents
}

// Bytes returns a size in decimal units: 512 B, 1.2 kB, 3.4 MB.
func Bytes(n int64) string {
	if n < 1000 {
		return strconv.FormatInt(n, 10) + " B"
	}
	units := []string{"kB", "MB", "GB", "TB", "PB", "EB"}
	f := float64(n) / 1000
	i := 0
	for f >= 999.95 && i < len(units)-1 {
		f /= 1000
		i++
	}
	return strconv.FormatFloat(f, 'f', 1, 64) + " " + units[i]
}
