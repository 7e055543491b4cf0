/** The latest entries of the audit log that changed something. */
import { Link } from '@tanstack/react-router'
import type { Schemas } from '../../api/client.ts'
import { Ago } from '../../parts/ago.tsx'
import type { Overview } from '../../shell/overview.ts'
import { isTest, recordOf } from '../audit/entry-words.ts'
import { usePageAddress } from './data.ts'
import { changeWords, overviewTexts } from './overview.texts.ts'

const texts = overviewTexts.changes

interface LatestChangesProps {
  readonly changes: Overview['counts']['latest_changes']
}

/** The latest changes, each with the user who made the change and a link to the audit log. */
export function LatestChanges({ changes }: LatestChangesProps) {
  const audit = usePageAddress()('/audit')
  return (
    <section className="card" aria-labelledby="latest">
      <header>
        <h2 id="latest">{texts.title}</h2>
        {audit && <Link to={audit}>{texts.all}</Link>}
      </header>
      <div className="card-body">
        {!changes || changes.items.length === 0 ? (
          <p className="muted">{changes ? texts.none : texts.unknown}</p>
        ) : (
          <ol className="latest">
            {changes.items.map((entry) => (
              <Change key={entry.id} entry={entry} audit={audit} />
            ))}
          </ol>
        )}
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
      {phraseOf(entry)} <bdi>{entry.resource_id !== null && recordOf(entry)}</bdi>
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

/** Returns the phrase of an action. The details of a verified backup say whether a test restored it. */
function phraseOf({ action, changes }: Schemas['AuditEntry']): string {
  if (action === 'backup.verified' && isTest(changes)) return texts.backupTested
  return changeWords[action] ?? action
}
