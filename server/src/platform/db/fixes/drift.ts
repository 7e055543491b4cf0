/** What the database has other than the committed schema says, as a fix. */
import type { Detected, Finding, Fix } from '../../fix.ts'
import { askIn, type Ground } from './ground.ts'
import type { Ask, Schema, Statement } from './schema.ts'
import { undoOf } from './statement.ts'

/** What should be there, and what is. */
export interface Look {
  readonly expected: readonly Statement[]
  readonly live: readonly Statement[]
}

/** Reads both. In a repair it runs again, as the owner. */
export type Read = (ask: Ask, committed: Schema) => Promise<Look>

/** What an operator is told of a fix. */
export type Words = Omit<Fix, 'detect' | 'recheck' | 'repair' | 'automatic'>

interface Drift extends Look {
  readonly subject: string
}

/** A fix that is told of: people decide. */
export function toldDrift(ground: Ground, words: Words, read: Read): Fix {
  return { ...words, automatic: false, detect: (tx) => detect(ground, read, askIn(tx)) }
}

/** A fix that takes back what should not be there, and runs what the schema says. */
export function drift(ground: Ground, words: Words, read: Read): Fix {
  return {
    ...toldDrift(ground, words, read),
    repair: ({ subject }) =>
      ground.owner.inTransaction(async (ask) => {
        const committed = await ground.committed(ask)
        if (!committed) throw new Error('the database has the schema of another release')
        const found = driftsOf(await read(ask, committed)).find((one) => one.subject === subject)
        if (!found) return 'already gone'
        for (const text of mending(found)) await ask(text)
        return 'repaired'
      }),
  }
}

async function detect(ground: Ground, read: Read, ask: Ask): Promise<Detected> {
  const committed = await ground.committed(ask)
  if (!committed) return { findings: [], looked_at: 0 }
  const look = await read(ask, committed)
  return {
    findings: driftsOf(look).map(findingOf),
    looked_at: new Set([...look.expected, ...look.live].map(({ subject }) => subject)).size,
  }
}

/** By name what the database has other than the committed schema says. */
export async function differing(
  ground: Pick<Ground, 'committed'>,
  reads: readonly Read[],
  ask: Ask,
): Promise<string[]> {
  const committed = await ground.committed(ask)
  if (!committed) return []
  const subjects: string[] = []
  for (const read of reads)
    subjects.push(...driftsOf(await read(ask, committed)).map(({ subject }) => subject))
  return subjects
}

function driftsOf({ expected, live }: Look): Drift[] {
  const [wanted, found] = [bySubject(expected), bySubject(live)]
  return [...new Set([...wanted.keys(), ...found.keys()])].sort().flatMap((subject) => {
    const one = { subject, expected: wanted.get(subject) ?? [], live: found.get(subject) ?? [] }
    return without(one.expected, one.live).length + without(one.live, one.expected).length > 0
      ? [one]
      : []
  })
}

function bySubject(statements: readonly Statement[]): Map<string, Statement[]> {
  const groups = Map.groupBy(statements, ({ subject }) => subject)
  // Privileges of a table go with those of its columns: all that one role has is one thing.
  for (const [subject, [first, ...others]] of groups)
    if (first?.kind === 'grants')
      groups.set(subject, [{ ...first, text: textOf([first, ...others]) }])
  return groups
}

const without = (some: readonly Statement[], others: readonly Statement[]) =>
  some.filter((one) => !others.some((other) => other.text === one.text))

const textOf = (statements: readonly Statement[]) => statements.map(({ text }) => text).join('\n')

function mending({ expected, live }: Drift): string[] {
  // What is made last hangs on what was made first. A function is replaced.
  const undone = without(live, expected).filter(({ kind }) => kind !== 'function')
  return [
    ...undone.reverse().map(({ kind, text }) => undoOf(kind, text)),
    ...without(expected, live).map(({ text }) => text),
  ]
}

/** Of a policy or a trigger what it says is not shown: that may hold anything. */
const SHOWN: readonly string[] = [
  'grants',
  'default privileges',
  'row security',
  'role',
  'membership',
  'owner',
] satisfies Statement['kind'][]
const MOST = 600

function findingOf({ subject, expected, live }: Drift): Finding {
  const shown = live.filter(({ kind }) => SHOWN.includes(kind))
  const state = stateOf(expected, live)
  const absent = { state: state === 'disabled' ? 'enabled' : 'absent' }
  return {
    tenant_id: null,
    subject,
    measured: {
      state,
      ...(shown.length > 0 ? { statement: cut(textOf(shown)) } : {}),
    },
    expected: expected.length > 0 ? { statement: cut(textOf(expected)) } : absent,
  }
}

const cut = (text: string) => (text.length > MOST ? `${text.slice(0, MOST)} …` : text)

function stateOf(expected: Look['expected'], live: Look['live']): string {
  if (live.some(({ text }) => / DISABLE TRIGGER /.test(text))) return 'disabled'
  if (live.length === 0) return 'missing'
  return expected.length === 0 ? 'surplus' : 'different'
}
