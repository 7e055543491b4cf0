/** One message of all that waits for a chat: the first events as lines, the others as counts. */
import { showCount } from './format.ts'
import { countOf } from './lines.ts'

export const MAX_LINES = 20
/** UTF-16 code units, as the provider counts them. */
export const MAX_UNITS = 4096
/** Of these, what the counts may take when there are lines as well. */
const MAX_COUNT_UNITS = 1024

export interface Waiting {
  /** The lines of the first events, in their order. */
  lines: readonly string[]
  /** How many events wait in all, by action; what has a line is among them. */
  counts: ReadonlyMap<string, number>
  /** The action of each line. */
  actions: readonly string[]
}

/** Returns the message: up to 20 lines within 4,096 units, then how many more there are of what. */
export function digestOf({ lines, counts, actions }: Waiting): string {
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0)
  let text = ''
  let told = 0
  for (const line of lines.slice(0, MAX_LINES)) {
    const longer = told === 0 ? line : `${text}\n${line}`
    const room = told + 1 === total ? MAX_UNITS : MAX_UNITS - MAX_COUNT_UNITS - 1
    if (longer.length > room) break
    text = longer
    told += 1
  }
  if (told === total) return text
  const left = new Map(counts)
  for (const action of actions.slice(0, told)) left.set(action, (left.get(action) ?? 0) - 1)
  const rest = countsOf([...left].filter(([, count]) => count > 0))
  if (told === 0) return `${showCount(total)} event${total === 1 ? '' : 's'}: ${rest}`
  return `${text}\nand ${showCount(total - told)} more: ${rest}`
}

/** The most frequent first; what no longer fits is counted together. */
function countsOf(counts: [action: string, count: number][]): string {
  const ordered = counts.sort(([a, more], [b, less]) => less - more || (a < b ? -1 : 1))
  const shown: string[] = []
  let units = 0
  for (const [index, [action, count]] of ordered.entries()) {
    const phrase = countOf(action, count)
    // 60 units for the opening and for what is said of the others.
    if (units + phrase.length + 2 > MAX_COUNT_UNITS - 60) {
      const others = ordered.slice(index).reduce((sum, [, more]) => sum + more, 0)
      return `${shown.join(', ')} and ${showCount(others)} others`
    }
    shown.push(phrase)
    units += phrase.length + 2
  }
  return shown.join(', ')
}
