/** Lets work of one name run a few at a time on this node, in the order in which it came. */
import { Problem } from '../../lib/problems.ts'

/** Work of one name that may wait; beyond it the caller is told to come later. */
const MAX_WAITING = 256

export interface Turns {
  <T>(name: string, work: () => Promise<T>): Promise<T>
  /** Whether work of the name would have to wait now. */
  isFull(name: string): boolean
}

/** @param atOnce pieces of work of one name that run side by side */
export function openTurns(atOnce: number): Turns {
  const lines = new Map<string, { running: number; waiting: (() => void)[] }>()
  const turns = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    const line = lines.get(name) ?? { running: 0, waiting: [] }
    lines.set(name, line)
    if (line.running < atOnce) line.running += 1
    else {
      if (line.waiting.length >= MAX_WAITING) throw new Problem('overloaded', { retryAfter: 2 })
      await new Promise<void>((resolve) => line.waiting.push(resolve))
    }
    try {
      return await work()
    } finally {
      const next = line.waiting.shift()
      if (next) next()
      else line.running -= 1
      if (line.running === 0) lines.delete(name)
    }
  }
  const isFull = (name: string) => (lines.get(name)?.running ?? 0) >= atOnce
  return Object.assign(turns, { isFull })
}
