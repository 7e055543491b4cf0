/** The tenant of a scenario: its administrator, the users to block, and its webhook. */
import { call, mustCall } from './http.ts'
import { type Node, SUPERADMIN } from './nodes.ts'

const PASSWORD = 'correct-Horse-9'
/** The events that the webhook receives. */
export const EVENTS = ['department.created', 'user.created', 'patient.created', 'user.blocked']

/** A signed-in user who will be blocked. */
export interface SignedInUser {
  id: number
  token: string
}

/** A tenant with people. */
export interface Clinic {
  id: number
  /** The administrator's access token. */
  token: string
  /** Signs the administrator in again after all sessions have ended. */
  renewToken(node: Node): Promise<void>
  users: SignedInUser[]
}

/** Creates a tenant with its administrator, signed-in users and a webhook. */
export async function openClinic(
  node: Node,
  subdomain: string,
  { users, receiverUrl }: { users: number; receiverUrl: string },
): Promise<Clinic> {
  const root = await signIn(node, { ...SUPERADMIN, subdomain: 'platform' })
  const post = (path: string, token: string, body: object) =>
    mustCall(node.address, 'POST', path, { token, body })
  const { id } = await post('/api/admin/tenants', root, { name: `Clinic ${subdomain}`, subdomain })
  const enrol = async (name: string, role: string): Promise<SignedInUser> => {
    const email = `${name}@${subdomain}.test`
    const body = { email, password: PASSWORD, full_name: name, role, tenant_id: id }
    const user = await post('/api/admin/users', root, body)
    return { id: user.id, token: await signIn(node, { email, password: PASSWORD, subdomain }) }
  }
  const { token } = await enrol('admin', 'admin')
  const admin = { email: `admin@${subdomain}.test`, password: PASSWORD, subdomain }
  const staff: SignedInUser[] = []
  for (let count = 1; count <= users; count += 1) staff.push(await enrol(`nurse-${count}`, 'nurse'))
  await post('/api/webhooks/register', token, { url: receiverUrl, events: EVENTS })
  const clinic: Clinic = {
    id,
    token,
    users: staff,
    async renewToken(node) {
      clinic.token = await signIn(node, admin)
    },
  }
  return clinic
}

async function signIn(
  node: Node,
  body: { email: string; password: string; subdomain: string },
): Promise<string> {
  const answer = await mustCall(node.address, 'POST', '/api/auth/login', { body })
  return answer.access_token
}

/** The status of a request that every signed-in user may make. */
export async function statusOf(node: Node, token: string): Promise<number | null> {
  return (await call(node.address, 'GET', '/api/users/me', { token })).status
}
