/** The latest entries of the audit log that changed something. */
import { Link } from '@tanstack/react-router'
import type { Schemas } from '../../api/client.ts'
import { Ago } from '../../parts/ago.tsx'
import { QueryState } from '../../parts/query-state.tsx'
import { useLatestChanges, usePageAddress } from './data.ts'
import { changeWords, overviewTexts } from './overview.texts.ts'

const texts = overviewTexts.changes

/** The latest changes, each with the user who made the change and a link to the audit log. */
export function LatestChanges() {
  const query = useLatestChanges()
  const audit = usePageAddress()('/audit')
  return (
    <section className="card" aria-labelledby="latest" aria-busy={query.isPending}>
      <header>
        <h2 id="latest">{texts.title}</h2>
        {audit && <Link to={audit}>{texts.all}</Link>}
      </header>
      <div className="card-body">
        <QueryState query={query}>
          {({ items }) =>
            items.length === 0 ? (
              <p className="muted">{texts.none}</p>
            ) : (
              <ol className="latest">
                {items.map((entry) => (
                  <Change key={entry.id} entry={entry} audit={audit} />
                ))}
              </ol>
            )
          }
        </QueryState>
      </div>
    </section>
  )
}

interface ChangeProps {
  readonly entry: Schemas['AuditEntry']
  readonly audit: string | undefined
}

function Change({ entry, audit }: ChangeProps) {
  const title = (
    <>
      {changeWords[entry.action] ?? entry.action} <bdi>{recordOf(entry)}</bdi>
    </>
  )
  return (
    <li>
      <div className="grow">
        {audit ? (
          <Link to={audit} search={{ open: entry.id }}>
            {title}
          </Link>
        ) : (
          title
        )}
        <div className="small muted">
          {texts.by} <bdi>{entry.user_name ?? entry.user_email ?? texts.service}</bdi>
        </div>
      </div>
      <span className="small muted">
        <Ago at={entry.created_at} />
      </span>
    </li>
  )
}

function recordOf({ resource_name, resource_type, resource_id }: Schemas['AuditEntry']): string {
  return resource_name ?? (resource_id === null ? '' : texts.record(resource_type, resource_id))
}
