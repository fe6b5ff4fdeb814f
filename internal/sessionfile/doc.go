// Package sessionfile finds and reads the session files of coding agents: transcripts, rollouts,
// chats, states.
//
// The adapter of an agent returns their possible places (session.Agent.Files) and interprets their
// content; this package reads the disk. A run's file is the one that its agent has open for
// writing, or has the conversation's id (of several the newest with a message), or else the first
// that was started in the run's directory after the run. A missing file means nothing: agents
// create theirs late.
//
// The files are written with the agent's rights, so they are claims: links out of the agent's home
// are not followed, only regular files are read, and of a long file only the beginning and the end.
package sessionfile
