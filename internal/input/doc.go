// Package input sends text and keys to an agent and verifies that the agent received the
// text.
//
// A terminal does not confirm what is typed: the agent may show a dialog, have an older
// draft in its composer, or read Enter as a line break. So Send looks at the screen first,
// clears a draft, pastes the text, presses Enter, and waits for a sign that the agent has
// the text: a hook, its session file, its activity, or the text above its composer. While
// the text is in the composer it presses Enter again, once the agent has read the last one,
// and never in a dialog, where Enter is an answer.
package input
