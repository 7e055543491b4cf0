/**
 * The settings form. Asks for confirmation before a second factor is required, and before the user leaves unsaved
 * changes.
 */
import { useQueryClient } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'
import { type FormEvent, useRef, useState } from 'react'
import { closeThenFocus, focusIfLost } from '../../parts/focus-heading.ts'
import { Form } from '../../parts/form.tsx'
import { CheckField, Field, SelectField } from '../../parts/form-fields.tsx'
import { LeaveGuard } from '../../parts/leave-guard.tsx'
import { showToast } from '../../parts/toasts.ts'
import { session } from '../../session/index.ts'
import { useClinicId } from '../../shell/clinic.ts'
import { usePersonHere } from '../../shell/person.ts'
import { MAX_NAME_LENGTH } from '../../words/limits.ts'
import { ROLES, type Role } from '../../words/roles.ts'
import { type Tenant, useSaveTenant, valuesOf, withoutFactorQuery } from './data.ts'
import { FactorFields, factorField } from './factor-fields.tsx'
import { type FactorQuestion, RequireFactor } from './require-factor.tsx'
import { settingsTexts as texts } from './settings.texts.ts'
import { type RetentionQuestion, ShortenRetention } from './shorten-retention.tsx'
import {
  type ClinicValues,
  isChanged,
  MAX_IDLE_MINUTES,
  MAX_RETENTION_DAYS,
  MIN_IDLE_MINUTES,
  MIN_RETENTION_DAYS,
  newlyRequired,
  REGISTRATIONS,
  shortensRetention,
} from './values.ts'

/** The form for the settings of one clinic. Reloading the settings does not replace the user's input. */
export function SettingsForm({ tenant }: { tenant: Tenant }) {
  const [saved, setSaved] = useState(() => valuesOf(tenant))
  const [values, setValues] = useState(saved)
  const [discards, setDiscards] = useState(0)
  const [saves, setSaves] = useState(0)
  const { ask, question } = useFactorQuestion()
  const retention = useRetentionQuestion()
  const save = useSaveTenant(useClinicId())
  const enrol = useEnrolment()
  const isDirty = isChanged(saved, values)
  const guarded = useRef(isDirty)
  guarded.current = isDirty

  const follow = (event: FormEvent) => {
    const { target } = event
    if (!(target instanceof HTMLInputElement || target instanceof HTMLSelectElement)) return
    if (target.form) setValues(readForm(target.form))
  }

  async function submit(): Promise<void> {
    const required = newlyRequired(saved, values)
    if (required.length > 0 && !(await ask(required))) return
    if (shortensRetention(saved, values) && !(await retention.ask(values))) return
    const after = await save(saved, values)
    guarded.current = false
    const show = () => {
      setSaved(after)
      setValues(after)
      // Recreates the fields, so that they show changes that others saved in the meantime.
      setSaves(saves + 1)
    }
    closeThenFocus(show, focusIfLost)
    showToast(texts.saved)
    await enrol(required)
  }

  const discard = () => {
    setValues(saved)
    setDiscards(discards + 1)
  }

  return (
    <div onChange={follow}>
      <Form
        key={discards}
        draft={`settings/${tenant.id}`}
        onSubmit={submit}
        submit={texts.save}
        busy={texts.saving}
        footer={
          isDirty && (
            <button
              type="button"
              className="wide"
              onClick={() => closeThenFocus(discard, focusIfLost)}
            >
              {texts.discard}
            </button>
          )
        }
      >
        <SettingsFields key={saves} saved={saved} values={values} />
      </Form>
      <LeaveGuard
        isOn={() => guarded.current}
        title={texts.leaveTitle}
        body={texts.leaveBody}
        stay={texts.stay}
      />
      {question && <RequireFactor question={question} />}
      {retention.question && <ShortenRetention question={retention.question} />}
    </div>
  )
}

interface SettingsFieldsProps {
  readonly saved: ClinicValues
  readonly values: ClinicValues
}

function SettingsFields({ saved, values }: SettingsFieldsProps) {
  return (
    <>
      <Field
        name="name"
        label={texts.name}
        missing={texts.nameMissing}
        defaultValue={saved.name}
        maxLength={MAX_NAME_LENGTH}
        autoComplete="off"
        required
      />
      <SelectField
        name="registration"
        label={texts.registration}
        hint={texts.registrationHint}
        defaultValue={saved.registration}
        required
      >
        {REGISTRATIONS.map((registration) => (
          <option key={registration} value={registration}>
            {texts.registrations[registration]}
          </option>
        ))}
      </SelectField>
      <FactorFields saved={saved} values={values} />
      <Field
        name="idle_minutes"
        label={texts.idle}
        hint={texts.idleHint}
        missing={texts.idleMissing}
        type="number"
        min={MIN_IDLE_MINUTES}
        max={MAX_IDLE_MINUTES}
        defaultValue={saved.idle_minutes}
        required
      />
      <Field
        name="audit_retention_days"
        label={texts.retention}
        hint={texts.retentionHint}
        missing={texts.retentionMissing}
        type="number"
        min={MIN_RETENTION_DAYS}
        max={MAX_RETENTION_DAYS}
        defaultValue={saved.audit_retention_days ?? ''}
      />
      <CheckField name="listed" label={texts.listed} defaultChecked={saved.listed} />
    </>
  )
}

function readForm(form: HTMLFormElement): ClinicValues {
  const fields = new FormData(form)
  const days = String(fields.get('audit_retention_days'))
  const registration = REGISTRATIONS.find((one) => one === fields.get('registration'))
  return {
    name: String(fields.get('name')).trim(),
    registration: registration ?? REGISTRATIONS[0],
    require_totp: ROLES.filter((role) => fields.has(factorField(role))),
    idle_minutes: Number(fields.get('idle_minutes')),
    listed: fields.has('listed'),
    audit_retention_days: days === '' ? null : Number(days),
  }
}

/** Asks whether some roles must have a second factor. Shows how many users have none. */
function useFactorQuestion() {
  const clinicId = useClinicId()
  const queries = useQueryClient()
  const { role: own } = usePersonHere()
  const [question, setQuestion] = useState<FactorQuestion>()
  const ask = async (roles: readonly Role[]): Promise<boolean> => {
    const counts = await Promise.all(
      roles.map(async (role) => {
        const count = await queries.fetchQuery(withoutFactorQuery(clinicId, role))
        return [role, count] as const
      }),
    )
    const answer = Promise.withResolvers<boolean>()
    setQuestion({ counts, concernsReader: roles.includes(own), answer: answer.resolve })
    return answer.promise.finally(() => setQuestion(undefined))
  }
  return { ask, question }
}

/** Asks whether entries of the audit log may be removed earlier. */
function useRetentionQuestion() {
  const [question, setQuestion] = useState<RetentionQuestion>()
  const ask = async ({ audit_retention_days: days }: ClinicValues): Promise<boolean> => {
    if (days === null) return true
    const answer = Promise.withResolvers<boolean>()
    setQuestion({ days, answer: answer.resolve })
    return answer.promise.finally(() => setQuestion(undefined))
  }
  return { ask, question }
}

/** Returns a function that redirects to the set-up of the second factor if the user must have one now. */
function useEnrolment() {
  const router = useRouter()
  const { role: own } = usePersonHere()
  return async (required: readonly Role[]): Promise<void> => {
    if (!required.includes(own)) return
    await session.renew()
    await router.invalidate()
  }
}
