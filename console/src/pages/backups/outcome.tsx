import { useOverflow } from '../../parts/data-table/use-overflow.ts'
import type { ServiceJob } from '../../parts/jobs/use-job.ts'
import { usePersonHere } from '../../shell/person.ts'
import { formatNumber } from '../../words/numbers.ts'
import type { RestoreOutcome } from './data.ts'
import { restoreTexts as texts } from './restore.texts.ts'

/** Returns the result of a completed restore job. */
export const outcomeOf = ({ result }: ServiceJob): RestoreOutcome => result as RestoreOutcome

interface OutcomeProps {
  readonly outcome: RestoreOutcome
  /** True if the restore has not happened. */
  readonly isPreview?: boolean
}

/** The changes of a restore by table, and the access that stays as it is today. */
export function Outcome({ outcome, isPreview = false }: OutcomeProps) {
  const { access, deleted, purged, purged_records } = outcome
  const { role } = usePersonHere()
  const purgedCount = Object.values(purged_records).reduce((sum, count) => sum + count, 0)
  // Only a rotation deletes data keys, so the backup is older than a rotation.
  const oldKeys = outcome.tables.data_keys?.added ?? 0
  const notes = [
    ...(oldKeys > 0 ? [texts.oldKeys(oldKeys, isPreview, role === 'superadmin')] : []),
    ...(deleted.length > 0 ? [texts.deleted(deleted.length, isPreview)] : []),
    ...(purged.length > 0 ? [texts.purged(purged.length, isPreview)] : []),
    ...(purgedCount > 0 ? [texts.purgedRecords(purgedCount, isPreview)] : []),
  ]
  return (
    <div className="stack">
      <Changes tables={outcome.tables} isPreview={isPreview} />
      {notes.map((note) => (
        <p key={note}>{note}</p>
      ))}
      <KeptAccess access={access} />
    </div>
  )
}

function Changes({
  tables,
  isPreview,
}: Pick<RestoreOutcome, 'tables'> & { readonly isPreview: boolean }) {
  const overflow = useOverflow()
  const all = Object.entries(tables)
  const changing = all.filter(([, { added, changed, removed }]) => added + changed + removed > 0)
  if (changing.length === 0)
    return <p>{isPreview ? texts.preview.nothing : texts.preview.nothingChanged}</p>
  const kept = all.length - changing.length
  return (
    <section className="stack tight">
      <h2>{texts.preview.changes}</h2>
      <div
        ref={overflow.container}
        className="card scroll"
        {...(overflow.isOverflowing && {
          tabIndex: 0,
          role: 'group',
          'aria-label': texts.preview.changes,
        })}
      >
        <table ref={overflow.table} className="plain-table">
          <caption className="hidden">{texts.preview.changes}</caption>
          <thead>
            <tr>
              <th scope="col">{texts.preview.table}</th>
              <th scope="col" className="number">
                {texts.preview.added}
              </th>
              <th scope="col" className="number">
                {texts.preview.changed}
              </th>
              <th scope="col" className="number">
                {texts.preview.removed}
              </th>
            </tr>
          </thead>
          <tbody>
            {changing.map(([table, { added, changed, removed }]) => (
              <tr key={table}>
                <th scope="row">{texts.preview.tableName(table)}</th>
                <td className="number">{formatNumber(added)}</td>
                <td className="number">{formatNumber(changed)}</td>
                <td className="number">{formatNumber(removed)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {kept > 0 && <p className="muted">{texts.preview.unchanged(kept, isPreview)}</p>}
    </section>
  )
}

function KeptAccess({ access: { total, cases } }: Pick<RestoreOutcome, 'access'>) {
  return (
    <section className="stack tight">
      <h2>{texts.access.title}</h2>
      <p>{total === 0 ? texts.access.none : texts.access.lead(total)}</p>
      {cases.length > 0 && (
        <ul>
          {cases.map(({ table, id, name, fields }) => (
            <li key={`${table} ${id}`}>
              {texts.access.subject(table)} <bdi>{name ?? id}</bdi>:{' '}
              {fields.map(texts.access.field).join(', ')}
            </li>
          ))}
        </ul>
      )}
      {cases.length < total && <p className="muted">{texts.access.first(cases.length)}</p>}
    </section>
  )
}
