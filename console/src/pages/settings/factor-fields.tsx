import { useQuery } from '@tanstack/react-query'
import { CheckField } from '../../parts/form-fields.tsx'
import { useClinicId } from '../../shell/clinic.ts'
import { usePersonHere } from '../../shell/person.ts'
import { ROLES, type Role, roleNames } from '../../words/roles.ts'
import { withoutFactorQuery } from './data.ts'
import { settingsTexts as texts } from './settings.texts.ts'
import { type ClinicValues, newlyRequired } from './values.ts'

interface FactorFieldsProps {
  readonly saved: ClinicValues
  readonly values: ClinicValues
}

/** Returns the name of the form field for a role. */
export const factorField = (role: Role): string => `require_totp.${role}`

/**
 * A checkbox for each role that can be required to have a second factor. A newly ticked checkbox shows how many users
 * of the role have not set up a second factor.
 */
export function FactorFields({ saved, values }: FactorFieldsProps) {
  const clinicId = useClinicId()
  const person = usePersonHere()
  const isPlatform = person.role === 'superadmin' && person.tenant_id === clinicId
  const roles = ROLES.filter(
    (role) => role !== 'superadmin' || isPlatform || saved.require_totp.includes(role),
  )
  const added = newlyRequired(saved, values)
  return (
    <fieldset>
      <legend>{texts.factor}</legend>
      <p className="form-hint">{texts.factorLead}</p>
      {roles.map((role) => (
        <div key={role}>
          <CheckField
            name={factorField(role)}
            label={roleNames[role]}
            defaultChecked={saved.require_totp.includes(role)}
          />
          <div role="status" className="form-hint settings-count">
            {added.includes(role) && <WithoutFactor role={role} />}
          </div>
        </div>
      ))}
    </fieldset>
  )
}

function WithoutFactor({ role }: { role: Role }) {
  const { data, error } = useQuery(withoutFactorQuery(useClinicId(), role))
  if (data !== undefined) return texts.withoutFactor(role, data)
  return error ? texts.notCounted : texts.counting
}
