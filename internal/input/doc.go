// Package input gives a text to an agent and sees that it was taken.
//
// A terminal takes what is typed into it, and says nothing: the agent may show a
// dialog, hold an older draft in its composer, or take Enter for a line break.
// So the screen is looked at before, a draft is cleared away, the text is pasted
// and submitted, and then it is waited for what says that the agent has it: a
// hook, its session file, its title, or the text standing above an empty composer.
// Enter is pressed again while the text still stands in the composer, and never over
// a dialog: Enter there is an answer.
package input
