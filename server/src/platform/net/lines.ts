/** The lines of a process: opened when needed, kept for a while for the next request to the origin. */
import type { Dial } from './dial.ts'
import { type Line, openLine } from './line.ts'
import type { Run } from './run.ts'

/** So many idle lines are kept in all; each is an open file here and at the receiver. */
const MOST_IDLE = 512

export interface Lines {
  /** An idle line to the origin, if there is one: the latest used, so that the others may expire. */
  take(origin: string): Line | undefined
  /** @throws DialFault */
  open(url: URL, run: Run): Promise<Line>
  /** Keeps a line for the next request, unless it has ended. */
  keep(line: Line): void
  /** Ends all. */
  close(): Promise<void>
}

export function openLines(dial: Dial, idleMs: number): Lines {
  const all = new Set<Line>()
  /** In the order in which they became idle. */
  const idle = new Set<Line>()
  const byOrigin = new Map<string, Line[]>()

  function leave(line: Line): void {
    if (!idle.delete(line)) return
    const others = byOrigin.get(line.origin)?.filter((other) => other !== line) ?? []
    if (others.length > 0) byOrigin.set(line.origin, others)
    else byOrigin.delete(line.origin)
  }

  return {
    take(origin) {
      const kept = byOrigin.get(origin) ?? []
      for (let line = kept.pop(); line; line = kept.pop()) {
        idle.delete(line)
        if (kept.length === 0) byOrigin.delete(origin)
        if (line.isOpen()) return line
      }
      return undefined
    },
    async open(url, run) {
      const socket = await dial(url, run)
      const line = await openLine(socket, {
        origin: url.origin,
        idleMs,
        onEnd(ended) {
          all.delete(ended)
          leave(ended)
        },
      })
      all.add(line)
      return line
    },
    keep(line) {
      if (!line.isOpen()) return
      const others = byOrigin.get(line.origin)
      if (others) others.push(line)
      else byOrigin.set(line.origin, [line])
      idle.add(line)
      const [oldest] = idle
      if (idle.size > MOST_IDLE && oldest) void oldest.end()
    },
    async close() {
      await Promise.all([...all].map((line) => line.end()))
    },
  }
}
