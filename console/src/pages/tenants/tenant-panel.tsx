import { Link } from '@tanstack/react-router'
import { ApiError } from '../../api/problem.ts'
import { Ago } from '../../parts/ago.tsx'
import { Panel } from '../../parts/panel.tsx'
import { QueryState } from '../../parts/query-state.tsx'
import { StatusBadge } from '../../parts/status-badge.tsx'
import { addressOf } from '../../shell/clinic.ts'
import { usePersonHere } from '../../shell/person.ts'
import { type Clinic, stateOf, useClinic } from './data.ts'
import { TenantActs } from './tenant-acts.tsx'
import { tenantTexts as texts } from './tenants.texts.ts'

interface TenantPanelProps {
  readonly id: number
  /** The clinic as the list shows it. */
  readonly known: Clinic | undefined
  readonly returnFocusTo: string
  readonly onClose: () => void
}

/** The panel of one clinic, beside the list. */
export function TenantPanel({ id, known, returnFocusTo, onClose }: TenantPanelProps) {
  const query = useClinic(id, known === undefined)
  const clinic = known ?? query.data
  const isUnknown = !clinic && query.error instanceof ApiError && query.error.status === 404
  return (
    <Panel
      title={isUnknown ? texts.notFoundTitle : (clinic?.name ?? texts.title)}
      onClose={onClose}
      returnFocusTo={returnFocusTo}
      actions={clinic && <TenantActs clinic={clinic} onGone={onClose} />}
    >
      <div className="card-body">
        {isUnknown ? (
          <p className="muted">{texts.notFound}</p>
        ) : clinic ? (
          <Facts clinic={clinic} />
        ) : (
          <QueryState query={query}>{() => null}</QueryState>
        )}
      </div>
    </Panel>
  )
}

function Facts({ clinic }: { clinic: Clinic }) {
  const { id, subdomain, users_count, created_at, deleted_at, restorable_until } = clinic
  return (
    <dl className="facts">
      <dt>{texts.subdomain}</dt>
      <dd className="mono">{subdomain}</dd>
      <dt>{texts.state}</dt>
      <dd>
        <StatusBadge kind="tenant" state={stateOf(clinic)} />
      </dd>
      {users_count !== undefined && (
        <>
          <dt>{texts.users}</dt>
          <dd>{texts.usersOf(users_count)}</dd>
        </>
      )}
      <dt>{texts.created}</dt>
      <dd>
        <Ago at={created_at} />
      </dd>
      {deleted_at === null ? (
        <Links id={id} />
      ) : (
        <>
          <dt>{texts.deleted}</dt>
          <dd>
            <Ago at={deleted_at} />
          </dd>
          <dt>{texts.restorable}</dt>
          <dd>{restorable_until === null ? texts.purging : <Ago at={restorable_until} />}</dd>
        </>
      )}
    </dl>
  )
}

const targets = [
  ['/overview', texts.overview],
  ['/users', texts.users],
  ['/settings', texts.settings],
  ['/audit', texts.audit],
] as const

/** Links to the pages of the clinic. */
function Links({ id }: { id: number }) {
  const person = usePersonHere()
  return (
    <>
      <dt>{texts.links}</dt>
      <dd className="row">
        {targets.map(([path, label]) => (
          <Link key={path} to={addressOf({ path }, person, id)}>
            {label}
          </Link>
        ))}
      </dd>
    </>
  )
}
