import { Ago } from '../../parts/ago.tsx'
import { ConfirmedAct } from '../../parts/confirmed-act.tsx'
import { Panel } from '../../parts/panel.tsx'
import { PanelContent } from '../../parts/panel-content.tsx'
import { StatusBadge } from '../../parts/status-badge.tsx'
import { clinicName, useClinics } from '../../shell/clinic.ts'
import { usePersonHere } from '../../shell/person.ts'
import { type Fix, useHealingCommands } from './data.ts'
import { evidenceLines } from './evidence.ts'
import { mendingOf } from './mending.ts'
import { healingTexts } from './self-healing.texts.ts'

const texts = healingTexts.panel

interface FixPanelProps {
  /** Undefined if the check does not exist. */
  readonly fix: Fix | undefined
  readonly returnFocusTo: string
  readonly onClose: () => void
}

/** The panel of one check: what it found, what a repair changes, and the confirmation. */
export function FixPanel({ fix, ...panel }: FixPanelProps) {
  const isOperator = usePersonHere().role === 'superadmin'
  if (!fix)
    return (
      <Panel title={texts.notFoundTitle} {...panel}>
        <p className="card-body muted">{texts.notFound}</p>
      </Panel>
    )
  return (
    <Panel
      title={fix.title}
      actions={isOperator && <Acts fix={fix} onTakenOut={panel.onClose} />}
      {...panel}
    >
      <PanelContent>
        <div className="stack healing">
          <p>{fix.description}</p>
          <Facts fix={fix} />
          <section className="stack tight">
            <h3>{fix.repairable ? texts.plan : texts.manualPlan}</h3>
            <p>{fix.plan}</p>
            {!isOperator && fix.status === 'proposed' && <p>{texts.whoConfirms}</p>}
            {fix.runbook && <p className="muted">{texts.runbook(fix.runbook)}</p>}
          </section>
          <Findings fix={fix} />
        </div>
      </PanelContent>
    </Panel>
  )
}

function Facts({ fix }: { fix: Fix }) {
  const { status, severity, reason, unknown, applied_at, result } = fix
  return (
    <dl className="facts">
      <dt>{healingTexts.state}</dt>
      <dd>
        <StatusBadge kind="repair" state={status} />
      </dd>
      <dt>{texts.severity}</dt>
      <dd>
        <StatusBadge kind="severity" state={severity} />
      </dd>
      <dt>{healingTexts.mends}</dt>
      <dd>{mendingOf(fix)}</dd>
      {reason !== null && (
        <>
          <dt>{status === 'failed' ? texts.failure : texts.reason}</dt>
          <dd>{reason}</dd>
        </>
      )}
      {status === 'failed' && (
        <>
          <dt>{texts.next}</dt>
          <dd>{texts.retry}</dd>
        </>
      )}
      {unknown !== null && (
        <>
          <dt>{texts.unknown}</dt>
          <dd>{unknown}</dd>
        </>
      )}
      {applied_at !== null && (
        <>
          <dt>{texts.repaired}</dt>
          <dd>
            <Ago at={applied_at} />. <bdi>{repairerOf(fix)}</bdi>.{' '}
            {result &&
              texts.result(result.repaired, result.already_gone, result.failed, result.remaining)}
          </dd>
        </>
      )}
    </dl>
  )
}

/** Says who confirmed the last repair. A deleted person has no name. */
function repairerOf({ applied_by, applied_by_name }: Fix): string {
  if (applied_by === null) return texts.bySelf
  return applied_by_name === null ? texts.bySomebody : texts.byUser(applied_by_name)
}

function Findings({ fix: { evidence, occurrences } }: { fix: Fix }) {
  const clinics = useClinics()
  return (
    <section className="stack tight">
      <h3>{texts.evidence}</h3>
      {evidence.length === 0 && <p className="muted">{texts.none}</p>}
      {occurrences > evidence.length && (
        <p className="muted">{texts.shown(evidence.length, occurrences)}</p>
      )}
      {evidence.map((finding) => (
        <table key={`${finding.tenant_id} ${finding.subject}`} className="plain-table">
          <caption>
            <b>
              <bdi>{subjectOf(finding)}</bdi>
            </b>
            , {texts.since} <Ago at={finding.since} />
            {finding.tenant_id !== null && (
              <div className="muted">
                <bdi>{texts.ofClinic(clinicName(clinics, finding.tenant_id))}</bdi>
              </div>
            )}
          </caption>
          <thead>
            <tr>
              <th scope="col">{texts.field}</th>
              <th scope="col">{texts.measured}</th>
              <th scope="col">{texts.expected}</th>
            </tr>
          </thead>
          <tbody>
            {evidenceLines(finding).map((line) => (
              <tr key={line.field}>
                <th scope="row">{line.field}</th>
                <td>
                  <bdi>{line.measured}</bdi>
                </td>
                <td>
                  <bdi>{line.expected}</bdi>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      ))}
    </section>
  )
}

const subjectOf = ({ subject, subject_name }: Fix['evidence'][number]): string =>
  subject_name === null ? subject : texts.named(subject, subject_name)

function Acts({ fix, onTakenOut }: { fix: Fix; onTakenOut: () => void }) {
  const { confirm, takeOut } = useHealingCommands()
  const words = healingTexts.confirm
  return (
    <>
      {fix.status === 'proposed' && (
        <ConfirmedAct
          open={words.open}
          title={words.title}
          className="primary"
          act={async () =>
            (await confirm(fix.id)).status === 'applied' ? words.applied : words.failed
          }
        >
          <div className="stack tight">
            <p>{fix.plan}</p>
            <p>{words.body(fix.occurrences)}</p>
          </div>
        </ConfirmedAct>
      )}
      <ConfirmedAct
        open={healingTexts.takeOut.open}
        title={healingTexts.takeOut.title}
        act={async () => {
          await takeOut(fix.id)
          return healingTexts.takeOut.done
        }}
        onDone={onTakenOut}
      >
        <p>{healingTexts.takeOut.body}</p>
      </ConfirmedAct>
    </>
  )
}
