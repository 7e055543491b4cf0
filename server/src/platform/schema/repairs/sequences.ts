/** Repairs sequences that are behind their table. The next row would get a number that is already in use. */

import { PLATFORM_ROLE } from '../../db/connection.ts'
import type { Fix } from '../../feature/fix.ts'
import { askIn, type Ground, type Words } from './ground.ts'
import type { AskSchema } from './schema.ts'

const WORDS: Words = {
  key: 'database.sequences',
  title: 'Sequences are behind their tables',
  description:
    'A sequence returns numbers that existing rows already use, for example after rows were copied in by hand. Inserts fail until the sequence has passed these numbers.',
  severity: 'high',
  plan: 'Sets the sequence to the highest number in its table while the table is locked. The sequence is never set back, so no number is assigned twice.',
}

/** A sequence, the table that uses it, and a query for the highest number in the table's column. */
interface Numbered {
  sequence: string
  table: string
  highest: string
}

/** Selects the columns that use a sequence, including those of partitioned tables, but not those of partitions. */
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
    // Reads the positions of the sequences after the rows, because concurrent inserts advance the sequences too.
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
    ground.inTransaction(async (ask) => {
      const numbered = await ask<Numbered>(NUMBERED)
      const one = numbered.find(({ sequence }) => `sequence ${sequence}` === subject)
      return one && (await setForward(ask, one)) ? 'repaired' : 'already gone'
    }),
})

/** Sets the sequence to the highest number in the table. Returns false if the sequence is not behind. */
async function setForward(
  ask: AskSchema,
  { sequence, table, highest }: Numbered,
): Promise<boolean> {
  // While this lock is held, no number is assigned, because an insert locks the table before it takes a number.
  await ask(`lock table only ${table} in share row exclusive mode`)
  // Uses the role that sees all rows, because row-level security applies to the owner too.
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
