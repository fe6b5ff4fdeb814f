// Package land brings the work of a session to its base. Decide says what that takes, from
// plain facts; Lander finds the facts and carries the steps out.
//
// The work is merged in a scratch checkout and the base moves only when that went well, from
// the commit that was merged with. Each step can be interrupted: what it left is made anew,
// and what it finished is found.
package land
