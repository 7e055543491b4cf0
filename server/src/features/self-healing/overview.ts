/** The part of the overview that shows faults that need a person to act. */
import Type from 'typebox'
import { Nullable, OneOf, Timestamp } from '../../lib/shapes.ts'
import { type OverviewParts, overviewPart } from '../../platform/feature/feature.ts'
import type { FixRow } from './fixes.store.ts'
import { findOpenFindings } from './overview.store.ts'
import { SEVERITIES } from './self-healing.table.ts'

/** @param waiting returns the fixes whose faults need a person to act, from a poll that is at most a minute old */
export const repairsAttention = (waiting: () => readonly FixRow[]): OverviewParts => ({
  repairs: overviewPart({
    schema: Type.Object(
      {
        count: Type.Integer({ minimum: 0, examples: [1] }),
        severity: Nullable(OneOf(SEVERITIES), { description: 'The highest severity.' }),
        title: Nullable(
          Type.String({
            description: 'The title of the newest fault.',
            examples: ['Department without an active head doctor'],
          }),
        ),
        since: Nullable(Timestamp, { description: 'When the newest fault was found.' }),
      },
      { description: 'The faults with a proposed repair, a failed repair or no automatic repair.' },
    ),
    isOfInstallation: true,
    async read(tx, { ofInstallation }) {
      const rows = new Map(waiting().map((row) => [row.id, row]))
      const open =
        rows.size === 0 ? [] : await findOpenFindings(tx, ofInstallation, [...rows.keys()])
      const newest = open.toSorted((a, b) => (a.since < b.since ? 1 : -1))[0]
      const severities = new Set(open.map(({ fix_id }) => rows.get(fix_id)?.severity))
      return {
        count: open.length,
        severity: SEVERITIES.findLast((severity) => severities.has(severity)) ?? null,
        title: (newest && rows.get(newest.fix_id)?.title) ?? null,
        since: newest?.since ?? null,
      }
    },
  }),
})
