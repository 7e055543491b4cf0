import { Ago } from '../../parts/ago.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { QueryState } from '../../parts/query-state.tsx'
import { StatusBadge } from '../../parts/status-badge.tsx'
import { useClinicId } from '../../shell/clinic.ts'
import { usePersonHere } from '../../shell/person.ts'
import { isAdministrator, roleNames } from '../../words/roles.ts'
import { type Tenant, useTenant, valuesOf } from './data.ts'
import { settingsTexts as texts } from './settings.texts.ts'
import { SettingsForm } from './settings-form.tsx'
import { otherSettings } from './values.ts'
import './settings.css'

/** The settings of a clinic: a form for administrators, and read-only text for auditors. */
export function Page() {
  const clinicId = useClinicId()
  const query = useTenant(clinicId)
  const mayChange = isAdministrator(usePersonHere().role)
  return (
    <>
      <PageHead title={texts.title} />
      <QueryState query={query}>
        {(tenant) => (
          <div className="settings">
            <section className="card" aria-label={texts.title}>
              <div className="card-body settings-main">
                {mayChange ? (
                  <SettingsForm key={clinicId} tenant={tenant} />
                ) : (
                  <SettingsFacts tenant={tenant} />
                )}
              </div>
            </section>
            <About tenant={tenant} />
          </div>
        )}
      </QueryState>
    </>
  )
}

function SettingsFacts({ tenant }: { tenant: Tenant }) {
  const values = valuesOf(tenant)
  return (
    <dl className="facts">
      <dt>{texts.name}</dt>
      <dd>
        <bdi>{values.name}</bdi>
      </dd>
      <dt>{texts.registration}</dt>
      <dd>{texts.registrations[values.registration]}</dd>
      <dt>{texts.factor}</dt>
      <dd>
        {values.require_totp.length === 0
          ? texts.factorNone
          : values.require_totp.map((role) => roleNames[role]).join(', ')}
      </dd>
      <dt>{texts.idleShort}</dt>
      <dd>{texts.minutes(values.idle_minutes)}</dd>
      <dt>{texts.retentionShort}</dt>
      <dd>{texts.kept(values.audit_retention_days)}</dd>
      <dt>{texts.listedShort}</dt>
      <dd>{values.listed ? texts.isListed : texts.isUnlisted}</dd>
    </dl>
  )
}

/** Facts about the clinic that the form cannot change. */
function About({ tenant }: { tenant: Tenant }) {
  const others = otherSettings(tenant.settings)
  return (
    <section className="card" aria-labelledby="about">
      <header>
        <h2 id="about">{texts.about}</h2>
      </header>
      <div className="card-body stack tight">
        <dl className="facts">
          <dt>{texts.subdomain}</dt>
          <dd className="mono">{tenant.subdomain}</dd>
          <dt>{texts.state}</dt>
          <dd>
            <StatusBadge kind="tenant" state={tenant.is_active ? 'active' : 'inactive'} />
          </dd>
          <dt>{texts.created}</dt>
          <dd>
            <Ago at={tenant.created_at} />
          </dd>
          {others.length > 0 && (
            <>
              <dt>{texts.others}</dt>
              <dd className="settings-others">{others.join(', ')}</dd>
            </>
          )}
        </dl>
        {others.length > 0 && <p className="small muted">{texts.othersHint}</p>}
      </div>
    </section>
  )
}
