// Writes down what happens in opencode: one file for each conversation, a line of JSON
// for each event. agentform made this file for one run of a session.
import { mkdirSync, openSync, writeSync } from "node:fs"
import { homedir } from "node:os"
import { join } from "node:path"

const folder = join(process.env.XDG_DATA_HOME || join(homedir(), ".local", "share"), "opencode", "agentform")
const kept = /^(session\.(status|idle|error)|(permission|question)\.\w+)$/

export const Agentform = async ({ directory }) => {
  const files = new Map() // open files, by conversation
  const parents = new Map() // conversations, by those of their sub-agents
  const begun = new Set() // messages that are written down

  const write = (conversation, type, properties) => {
    const line = () => JSON.stringify({ at: Date.now(), type, properties }) + "\n"
    if (!files.has(conversation)) {
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      files.set(conversation, openSync(join(folder, conversation + ".jsonl"), "a", 0o600))
      write(conversation, "run", { sessionID: conversation, directory })
    }
    writeSync(files.get(conversation), line())
  }

  // A message changes many times while it is written.
  const tells = (type, p) => {
    if (type === "message.updated") {
      const { id, time, finish, error } = p.info
      const first = !begun.has(id)
      begun.add(id)
      return first || finish || error || time.completed
    }
    if (type === "message.part.updated") {
      const { type, time, state } = p.part
      return (type === "text" && (!time || time.end)) || (type === "tool" && /^(completed|error)$/.test(state.status))
    }
    return kept.test(type)
  }

  return {
    event: async ({ event: { type, properties: p } }) => {
      try {
        if (p?.info?.parentID && p.info.directory) parents.set(p.info.id, p.info.parentID)
        let conversation = p?.sessionID
        if (!conversation || !tells(type, p)) return
        while (parents.has(conversation)) conversation = parents.get(conversation)
        if (p.info?.summary?.diffs) delete p.info.summary
        write(conversation, type, p)
      } catch {
        // opencode goes on without.
      }
    },
  }
}
