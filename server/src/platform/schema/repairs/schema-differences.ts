/** Reports how the live schema differs from the schema of this release. A person has to repair the differences. */
import type { Finding, Fix } from '../../feature/fix.ts'
import { againstRelease, type Ground, RUNBOOK, type Words } from './ground.ts'
import { readOutsideDump } from './outside-dump.ts'
import { type AskSchema, type RepairStatement, readLive, type Schema } from './schema.ts'
import type { Kind } from './statement.ts'

const WORDS: Words = {
  key: 'database.schema',
  title: 'The database differs from the schema of this release',
  description:
    'A table, column, constraint, policy, trigger, function, privilege, role, owner or collation version is missing, different or unknown to this release. Possible causes are manual changes of the database or an upgrade of its server. Requests may fail, invalid rows may exist, and the barrier between tenants may be incomplete.',
  severity: 'critical',
  plan: 'Has no automatic repair, because data and other work may depend on the difference. Each finding names the object and the expected statement. A database administrator applies it as described in the runbook.',
  runbook: RUNBOOK,
}

interface Difference {
  subject: string
  kind: Kind
  expected: readonly RepairStatement[]
  live: readonly RepairStatement[]
}

export const schemaDifferences = (ground: Ground): Fix => ({
  ...WORDS,
  automatic: false,
  detect: againstRelease(ground, async (ask, committed) => {
    const { differences, looked_at } = await compare(ask, committed)
    return { findings: differences.filter(isForPeople).map(findingOf), looked_at }
  }),
})

/** The kinds of objects that protect data. A restore depends on them, because they refuse invalid writes. */
const SAFEGUARDS: readonly Kind[] = [
  'row security',
  'policy',
  'grants',
  'default privileges',
  'trigger',
  'function',
]

/** Returns the names of differing safeguards, or an empty list if the database has a different schema version. */
export async function differingSafeguardsIn(
  ground: Pick<Ground, 'committed'>,
  ask: AskSchema,
): Promise<string[]> {
  const committed = await ground.committed(ask)
  if (!committed) return []
  const { differences } = await compare(ask, committed)
  return differences.filter(({ kind }) => SAFEGUARDS.includes(kind)).map(({ subject }) => subject)
}

/** Excludes the faults that `database.indexes` and `database.row_security` report and repair. */
function isForPeople({ kind, expected, live }: Difference): boolean {
  if (kind === 'index') return live.length > 0
  return kind !== 'row security' || without(expected, live).length === 0
}

async function compare(
  ask: AskSchema,
  committed: Schema,
): Promise<{ differences: Difference[]; looked_at: number }> {
  const found = await readLive(ask)
  const outside = await readOutsideDump(ask, committed)
  const expected = bySubject([
    ...committed.statements.filter((one) => isCompared(one) && isReported(found, one)),
    ...outside.expected,
  ])
  const isOfOurs = (one: RepairStatement) =>
    isCompared(one) &&
    (isHead(one) ? isInOurs(committed, one) : committed.heads.has(one.head)) &&
    (expected.has(one.subject) || !isTuning(one))
  const live = bySubject([...found.statements.filter(isOfOurs), ...outside.live])
  const subjects = [...new Set([...expected.keys(), ...live.keys()])].sort()
  return {
    differences: subjects.flatMap((subject) =>
      differenceOf(subject, expected.get(subject) ?? [], live.get(subject) ?? []),
    ),
    looked_at: subjects.length,
  }
}

/**
 * Excludes comments and statistics, which do not affect behaviour, and the right of PUBLIC to call functions, which is
 * PostgreSQL's default.
 */
const isCompared = ({ kind, text }: RepairStatement) =>
  kind !== 'comment' &&
  kind !== 'statistics' &&
  !/^GRANT execute ON ROUTINE .* TO PUBLIC;$/.test(text)

const isHead = ({ head, subject }: RepairStatement) => head === subject

/** Returns false for the columns and privileges of a missing table, because the missing table is a single finding. */
const isReported = ({ heads }: Schema, one: RepairStatement) => isHead(one) || heads.has(one.head)

/** Returns whether the object is in a schema of this release. Other schemas and extensions belong to other programs. */
function isInOurs({ heads }: Schema, { kind, head }: RepairStatement): boolean {
  if (kind === 'schema' || kind === 'extension') return heads.has(head)
  const [, schema = 'public'] = /^\S+ ("(?:[^"]|"")*"|\w+)\./.exec(head) ?? []
  return heads.has(`schema ${schema}`)
}

/** Returns whether a statement creates a non-unique index. An operator may add such indexes to make queries faster. */
const isTuning = ({ kind, text }: RepairStatement) =>
  kind === 'index' && text.startsWith('CREATE INDEX ')

const bySubject = (statements: readonly RepairStatement[]) =>
  Map.groupBy(statements.map(comparable), ({ subject }) => subject)

/**
 * Reduces a table to its name, because its columns are compared separately. Ignores the storage parameters of indexes.
 */
function comparable(one: RepairStatement): RepairStatement {
  if (['table', 'view', 'extension'].includes(one.kind)) return { ...one, text: one.subject }
  if (one.kind === 'index') return { ...one, text: one.text.replace(/ WITH \([^)]*\)/, '') }
  return one
}

function differenceOf(
  subject: string,
  expected: readonly RepairStatement[],
  live: readonly RepairStatement[],
): Difference[] {
  const [first] = [...expected, ...live]
  const isSame = without(expected, live).length + without(live, expected).length === 0
  return !first || isSame ? [] : [{ subject, kind: first.kind, expected, live }]
}

const without = (some: readonly RepairStatement[], others: readonly RepairStatement[]) =>
  some.filter((one) => !others.some((other) => other.text === one.text))

/**
 * The kinds of objects whose current definition a finding may show. The definitions of other objects may contain
 * confidential text.
 */
const SHOWN: readonly Kind[] = [
  'grants',
  'default privileges',
  'row security',
  'role',
  'membership',
  'owner',
  'collation',
]
const MAX_SHOWN = 2000

function findingOf({ subject, expected, live }: Difference): Finding {
  const shown = live.filter(({ kind }) => SHOWN.includes(kind))
  const state = stateOf(expected, live)
  return {
    tenant_id: null,
    subject,
    measured: { state, ...(shown.length > 0 ? { statement: textOf(shown) } : {}) },
    expected:
      expected.length > 0
        ? { statement: textOf(expected) }
        : { state: state === 'disabled' ? 'enabled' : 'absent' },
  }
}

function textOf(statements: readonly RepairStatement[]): string {
  const text = statements.map((one) => one.text).join('\n')
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)} …` : text
}

function stateOf(expected: readonly RepairStatement[], live: readonly RepairStatement[]): string {
  if (live.some(({ text }) => / DISABLE TRIGGER /.test(text))) return 'disabled'
  if (live.length === 0) return 'missing'
  return expected.length === 0 ? 'surplus' : 'different'
}
