/** Describes the state of every component in words. */
import { Ago } from '../../parts/ago.tsx'
import { StatusBadge, ToneBadge } from '../../parts/status-badge.tsx'
import type { Overview } from '../../shell/overview.ts'
import { componentNames } from '../../words/components.texts.ts'
import { overviewTexts } from './overview.texts.ts'

const texts = overviewTexts.health

/** The state of every component. Unhealthy components come first, with the reason and the runbook. */
export function Health({ health }: { health: Overview['health'] }) {
  const failing = health.components.filter(({ state }) => state !== 'ok')
  const well = health.components.filter(({ state }) => state === 'ok')
  return (
    <section className="card" aria-labelledby="health">
      <header>
        <h2 id="health">{texts.title}</h2>
        {failing.length === 0 ? (
          <ToneBadge tone="ok">{texts.allOk}</ToneBadge>
        ) : (
          <ToneBadge tone="attention">{texts.attention(failing.length)}</ToneBadge>
        )}
      </header>
      <ul className="components">
        {[...failing, ...well].map((component) => (
          <li key={component.name} className={component.state === 'ok' ? undefined : 'failing'}>
            <span>{componentNames[component.name] ?? component.name}</span>
            <StatusBadge kind="health" state={component.state} />
            {component.reason && <Reason component={component} />}
          </li>
        ))}
      </ul>
    </section>
  )
}

function Reason({ component }: { component: Overview['health']['components'][number] }) {
  return (
    <div className="detail muted">
      {component.reason}{' '}
      {component.since && (
        <>
          {texts.since} <Ago at={component.since} />.{' '}
        </>
      )}
      {component.runbook && (
        <>
          {texts.runbook} <code>{component.runbook}</code>
        </>
      )}
    </div>
  )
}
