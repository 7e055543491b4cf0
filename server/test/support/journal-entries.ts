/** Sample entries of every action, as a forwarder of the journal receives them. */
import {
  ACTIONS,
  type Action,
  type NumberedEntry,
  resourceTypeOf,
} from '../../src/platform/journal/index.ts'

interface Example {
  meaning: string
  example?: {
    resource_type: string
    resource_id: string | null
    user_id: number | null
    changes: unknown
  }
}

export const ENTRY: NumberedEntry = {
  id: 812,
  xid: '744',
  sequence: 40,
  tenant_id: 3,
  user_id: 41,
  user_email: 'anna@north.example',
  action: 'user.blocked',
  resource_type: 'user',
  resource_id: '57',
  changes: { before: { status: 'active' }, after: { status: 'blocked' } },
  ip: '192.0.2.7',
  user_agent: 'Firefox/140',
  request_id: '0b0f3d5e-4a0e-4a39-8a45-7e1f0d9e6a11',
  created_at: '2026-11-21T12:00:00.123Z',
  who_salt: null,
  what_salt: null,
  mac: null,
}

const CHANGES: Partial<Record<Action, unknown>> = {
  'access.refused': {
    code: 'role_required',
    count: 3,
    first_at: '2026-11-21T11:59:00.000Z',
    last_at: '2026-11-21T11:59:30.000Z',
  },
  'patient.listed': { resource_ids: [9001, 9002] },
  'patient.searched': { resource_ids: [] },
}

/** Returns entries of an action: one with all fields, and one by the service itself, without optional fields. */
export function entriesOf(action: Action): NumberedEntry[] {
  const { example }: Example = ACTIONS[action]
  const resource_type = resourceTypeOf(action)
  const whole = {
    ...ENTRY,
    action,
    resource_type,
    ...example,
    changes: CHANGES[action] ?? example?.changes ?? null,
  }
  const bare = {
    tenant_id: null,
    user_id: null,
    user_email: null,
    resource_id: null,
    changes: null,
    ip: null,
    user_agent: null,
    request_id: null,
  }
  return [whole, { ...whole, ...bare }]
}
