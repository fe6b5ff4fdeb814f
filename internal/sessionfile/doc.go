// Package sessionfile finds and reads the files in which coding agents keep
// their own sessions: transcripts, rollouts, chats, states.
//
// Where they may lie is for the agent to say (session.Agent.Files), and what
// stands in them too; here is what touches the disk. A run's file is the one that
// its agent has open for writing, or that bears the conversation's id (of several
// the newest in which something was said), or else the first that was begun in the
// run's folder after the run was. That there is none says nothing: agents make
// theirs late.
//
// Whoever writes these files has the agent's rights, so they are a claim: no link
// leads out of the agent's home, nothing but regular files is read, and of a long
// one only the beginning and the end.
package sessionfile
