/** Builders and sample records for the example entries in the registry of actions. */

/** An example journal entry, as a webhook receives it. A test compares each example with real entries. */
export interface ActionExample {
  resource_type: string
  resource_id: string | null
  user_id: number | null
  changes: object | null
}

export const [SUPERADMIN, ADMIN, NURSE] = [1, 41, 57]

/** Returns a builder of example entries about one resource. By default, user `by` made the change. */
export const about =
  (resource_type: string, resource_id: string | null, by: number) =>
  (changes: object | null = null, user_id: number | null = by): ActionExample => ({
    resource_type,
    resource_id,
    user_id,
    changes,
  })

export const tenant = about('tenant', '3', SUPERADMIN)
export const department = about('department', '12', ADMIN)
export const user = about('user', String(NURSE), ADMIN)
export const session = about('session', '3f0c2b1e-52a4-4c0e-9a53-1f2d6b7a9c10', NURSE)
export const webhook = about('webhook', '5', ADMIN)
export const patient = about('patient', '9001', NURSE)
/** Builds the entry of a payment change. It has no user, because the payment provider reports the change. */
export const payment = (before: object | null, after: object) =>
  about('payment', '81', ADMIN)({ before, after }, null)
export const backup = about('backup', 'b0c5a7f4-6f0e-4b5c-9a53-2f7f2f1f0c11', ADMIN)
export const rotation = about('encryption', '7d1f0c9e-4b5c-4c0e-9a53-0c1d2e3f4a5b', SUPERADMIN)
export const fix = (changes: object, by: number | null = null) =>
  about('fix', '4', SUPERADMIN)(changes, by)
export const oneDepartment = {
  key: 'departments.head',
  severity: 'low',
  subjects: ['department 12'],
}
export const tried = (after: object, repaired: number) => {
  const before = { status: 'proposed', occurrences: 1 }
  return fix({ ...oneDepartment, before, after, repaired }, SUPERADMIN)
}

export const active = { is_active: true }
export const inactive = { is_active: false }
export const northClinic = { name: 'North Clinic', subdomain: 'north', settings: {}, ...active }
export const surgery = { name: 'Surgery', head_doctor_id: null }
export const registered = {
  email: 'nurse@north.example',
  full_name: 'Nora Nurse',
  role: 'nurse',
  department_id: 12,
  is_active: true,
  status: 'active',
}
export const authorized = {
  provider: 'cardnet',
  provider_payment_id: 'pay_4f2b',
  status: 'authorized',
  amount: 10_000,
  amount_refunded: 0,
  currency: 'EUR',
}
export const paid = { ...authorized, status: 'succeeded' }
export const letIn = { ...active, status: 'active' }
export const keptOut = { ...inactive, status: 'blocked' }
export const nurse = { ...registered, can_see_all_patients: false, must_change_password: false }
