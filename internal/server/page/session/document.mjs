import { useEffect, useState } from "../vendor/preact.mjs";
import { ask } from "../api.mjs";

// useDocument asks for a document now and whenever the session changes.
export function useDocument(path, s) {
  const [d, setD] = useState(null);
  const [problem, setProblem] = useState("");
  const mark = `${s.activity} ${s.state} ${s.last_event?.time} ${s.turns} ${s.changes?.counted_at}`;
  useEffect(() => {
    let over = false;
    ask(path).then(
      (x) => over || (setD(x), setProblem("")),
      (e) => over || setProblem(e.message),
    );
    return () => (over = true);
  }, [path, mark]);
  return [d, problem];
}
