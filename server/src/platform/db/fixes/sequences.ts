/** The fix of sequences that stand behind their table: the next row would get a number that is taken. */
import type { Fix } from '../../fix.ts'
import { PLATFORM_ROLE } from '../connection.ts'
import type { Words } from './drift.ts'
import { askIn, type Ground } from './ground.ts'
import type { Ask } from './schema.ts'

const WORDS: Words = {
  key: 'database.sequences',
  title: 'Sequences stand behind their tables',
  description:
    'A sequence gives out numbers that rows have already, as after rows were copied in by hand: every insert fails until it has passed them.',
  severity: 'high',
  plan: 'Sets the sequence to the highest number of its table, while nobody writes to it. It never goes back, and no number is given out twice.',
}

/** A column that takes its numbers from a sequence, and the question for the highest of them. */
interface Numbered {
  sequence: string
  table: string
  highest: string
}

/** Those of partitioned tables too; of their partitions none has one. */
const NUMBERED = `
  select s.oid::regclass::text as sequence, t.oid::regclass::text as "table",
    format('select %L as sequence, max(%I) as highest from %s', s.oid::regclass, a.attname, t.oid::regclass) as highest
  from pg_class s
  join pg_depend d on d.classid = 'pg_class'::regclass and d.objid = s.oid and d.deptype in ('i', 'a')
    and d.refclassid = 'pg_class'::regclass
  join pg_attribute a on a.attrelid = d.refobjid and a.attnum = d.refobjsubid
  join pg_class t on t.oid = d.refobjid and not t.relispartition
  where s.relkind = 'S' and s.relnamespace = 'public'::regnamespace and has_table_privilege('${PLATFORM_ROLE}', t.oid, 'select')
  order by s.oid::regclass::text collate "C"`

interface Highest {
  sequence: string
  highest: number | null
}

export const sequences = (ground: Ground): Fix => ({
  ...WORDS,
  automatic: true,
  async detect(tx) {
    const ask = askIn(tx)
    if (!(await ground.committed(ask))) return { findings: [], looked_at: 0 }
    const numbered = await ask<Numbered>(NUMBERED)
    const highest = await ask<Highest>(numbered.map((one) => one.highest).join(' union all '))
    // Behind the rows: what has been inserted meanwhile has moved it on.
    const given = new Map(
      (
        await ask<{ sequence: string; given: number }>(
          'select sequence, given from sequence_positions()',
        )
      ).map((one) => [one.sequence, one.given]),
    )
    const behind = highest.filter(
      (one) => (one.highest ?? 0) > (given.get(one.sequence) ?? Infinity),
    )
    return {
      findings: behind.map(({ sequence, highest: atLeast }) => ({
        tenant_id: null,
        subject: `sequence ${sequence}`,
        measured: { given: given.get(sequence) ?? null },
        expected: { at_least: atLeast },
      })),
      looked_at: numbered.length,
    }
  },
  repair: ({ subject }) =>
    ground.owner.inTransaction(async (ask) => {
      const numbered = await ask<Numbered>(NUMBERED)
      const one = numbered.find(({ sequence }) => `sequence ${sequence}` === subject)
      return one && (await setForward(ask, one)) ? 'repaired' : 'already gone'
    }),
})

/** Returns whether it stood behind. */
async function setForward(ask: Ask, { sequence, table, highest }: Numbered): Promise<boolean> {
  // Whoever inserts has the lock of the table before a number: none is given out meanwhile.
  await ask(`lock table only ${table} in share row exclusive mode`)
  // In the role that sees all rows: the owner is held to row-level security.
  await ask(`set local role ${PLATFORM_ROLE}`)
  const [row] = await ask<Highest>(highest)
  await ask('reset role')
  const moved = await ask(
    `select setval($1::regclass, $2::bigint) from ${sequence}
     where last_value - (not is_called)::int < $2::bigint`,
    [sequence, row?.highest ?? null],
  )
  return moved.length > 0
}
