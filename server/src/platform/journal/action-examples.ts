/** Builders and sample records for the examples of actions on tenants, users and sessions. */

/** A journal entry as a webhook shows it. A test compares each example with real entries. */
export interface ActionExample {
  resource_type: string
  resource_id: string | null
  user_id: number | null
  changes: object | null
}

export const [SUPERADMIN, ADMIN, NURSE] = [1, 41, 57]

/** Returns the builder of examples about one resource, which by default `by` changed. */
export const about =
  (resource_type: string, resource_id: string | null, by: number) =>
  (changes: object | null = null, user_id: number | null = by): ActionExample => ({
    resource_type,
    resource_id,
    user_id,
    changes,
  })

export const tenant = about('tenant', '3', SUPERADMIN)
export const user = about('user', String(NURSE), ADMIN)
export const session = about('session', '3f0c2b1e-52a4-4c0e-9a53-1f2d6b7a9c10', NURSE)
export const rotation = about('encryption', '7d1f0c9e-4b5c-4c0e-9a53-0c1d2e3f4a5b', SUPERADMIN)

export const active = { is_active: true }
export const inactive = { is_active: false }
export const northClinic = { name: 'North Clinic', subdomain: 'north', settings: {}, ...active }
export const letIn = { ...active, status: 'active' }
export const keptOut = { ...inactive, status: 'blocked' }
