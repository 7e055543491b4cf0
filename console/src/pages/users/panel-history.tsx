import { Link } from '@tanstack/react-router'
import { Ago } from '../../parts/ago.tsx'
import { QueryState } from '../../parts/query-state.tsx'
import { addressOf, useClinicId } from '../../shell/clinic.ts'
import { usePersonHere } from '../../shell/person.ts'
import { useActionMeanings } from '../audit/action-meanings.ts'
import { type AuditEntry, meaningOfEntry, whoOf } from '../audit/entry-words.ts'
import { type User, useUserHistory } from './data.ts'
import { panelTexts } from './panel.texts.ts'

const texts = panelTexts.history

/** The latest entries of the audit log about a user. */
export function HistoryTab({ user }: { user: User }) {
  const query = useUserHistory(user.id)
  const { meaningOf } = useActionMeanings()
  return (
    <QueryState query={query}>
      {({ items }) => (
        <>
          {items.length === 0 && <p className="muted">{texts.none}</p>}
          <ol className="panel-list">
            {items.map((entry) => (
              <HistoryItem
                key={entry.id}
                entry={entry}
                meaning={meaningOfEntry(entry, meaningOf)}
              />
            ))}
          </ol>
          <AuditLink id={user.id} />
        </>
      )}
    </QueryState>
  )
}

interface HistoryItemProps {
  readonly entry: AuditEntry
  readonly meaning: string
}

function HistoryItem({ entry, meaning }: HistoryItemProps) {
  return (
    <li>
      <div>{meaning}</div>
      <div className="small muted">
        <Ago at={entry.created_at} /> · <bdi>{whoOf(entry)}</bdi>
      </div>
    </li>
  )
}

/** Links to the whole history in the audit log. Every role that sees users may open the audit log. */
function AuditLink({ id }: { id: number }) {
  const person = usePersonHere()
  const clinicId = useClinicId()
  return (
    <p>
      <Link to={addressOf({ path: '/audit' }, person, clinicId)} search={{ about_user: id }}>
        {texts.more}
      </Link>
    </p>
  )
}
