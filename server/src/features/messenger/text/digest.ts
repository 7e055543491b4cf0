/** Combines all waiting events of a chat into one message: the first events as lines, the other events as counts. */
import { showCount } from './format.ts'
import { countOf } from './lines.ts'

export const MAX_LINES = 20
/** The maximum length of a message, in UTF-16 code units as the provider counts. */
export const MAX_UNITS = 4096
/** The number of code units reserved for the counts if the message also has lines. */
const MAX_COUNT_UNITS = 1024

export interface DigestLine {
  /** The lines of the first events, in the order of the events. */
  lines: readonly string[]
  /** The number of waiting events by action, including events with a line. */
  counts: ReadonlyMap<string, number>
  actions: readonly string[]
}

/** Returns up to 20 lines within 4,096 code units, and the number of other events by action. */
export function digestOf({ lines, counts, actions }: DigestLine): string {
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0)
  let text = ''
  let shown = 0
  for (const line of lines.slice(0, MAX_LINES)) {
    const longer = shown === 0 ? line : `${text}\n${line}`
    const room = shown + 1 === total ? MAX_UNITS : MAX_UNITS - MAX_COUNT_UNITS - 1
    if (longer.length > room) break
    text = longer
    shown += 1
  }
  if (shown === total) return text
  const left = new Map(counts)
  for (const action of actions.slice(0, shown)) left.set(action, (left.get(action) ?? 0) - 1)
  const rest = countsOf([...left].filter(([, count]) => count > 0))
  if (shown === 0) return `${showCount(total)} event${total === 1 ? '' : 's'}: ${rest}`
  return `${text}\nand ${showCount(total - shown)} more: ${rest}`
}

/** Lists counts by action, most frequent first. Adds up the remaining counts if there is no room for all. */
function countsOf(counts: [action: string, count: number][]): string {
  const ordered = counts.sort(([a, more], [b, less]) => less - more || (a < b ? -1 : 1))
  const shown: string[] = []
  let units = 0
  for (const [index, [action, count]] of ordered.entries()) {
    const phrase = countOf(action, count)
    // Reserves 60 units for the start of the list and for the sum of the other counts.
    if (units + phrase.length + 2 > MAX_COUNT_UNITS - 60) {
      const others = ordered.slice(index).reduce((sum, [, more]) => sum + more, 0)
      return `${shown.join(', ')} and ${showCount(others)} others`
    }
    shown.push(phrase)
    units += phrase.length + 2
  }
  return shown.join(', ')
}
