/** A clinic whose admin configures webhooks, on a service without background work. */
import { type Clinic, makeClinic, superadmin } from '../support/clinics.ts'
import { signInAs } from '../support/people.ts'
import { type Answer, type CallOptions, openService, type Service } from '../support/service.ts'

export interface WebhookClinic {
  service: Service
  clinic: Clinic
  /** Calls a path below `/api/webhooks` as the clinic's admin. Signs the admin in again when the token has expired. */
  call<T = any>(method: string, path?: string, options?: CallOptions): Promise<Answer<T>>
  /** Registers a webhook, for all events by default. Returns the response body. */
  register(fields?: Record<string, unknown>): Promise<any>
  /** Returns the journal entries about a webhook, oldest first. */
  entriesOf(webhookId: number): Promise<{ id: number; action: string; changes: any }[]>
}

export async function openClinic(
  options: Parameters<typeof openService>[0] = {},
): Promise<WebhookClinic> {
  const service = await openService({ ...options })
  const clinic = await makeClinic(service, await superadmin(service), 'north')
  return clinicOn(service, clinic)
}

/** Works like `openClinic`, but for an existing clinic. */
export function clinicOn(service: Service, clinic: Clinic): WebhookClinic {
  let { token } = clinic.people.admin

  const call: WebhookClinic['call'] = async (method, path = '', options = {}) => {
    const ask = () => service.call(method, `/api/webhooks${path}`, { token, ...options })
    const answer = await ask()
    if (answer.status !== 401) return answer
    const { email, password } = clinic.people.admin
    token = (await signInAs(service, { email, password, subdomain: clinic.subdomain })).token
    return ask()
  }

  return {
    service,
    clinic,
    call,
    async register(fields = {}) {
      const body = { url: 'http://127.0.0.1:9/hook', events: ['*'], ...fields }
      const answer = await call('POST', '/register', { body })
      if (answer.status !== 201)
        throw new Error(`register answered ${answer.status}: ${JSON.stringify(answer.body)}`)
      return answer.body
    },
    entriesOf: (webhookId) =>
      service.database.sql(
        `select id, action, changes from journal
         where resource_type = 'webhook' and resource_id = $1 order by id`,
        [String(webhookId)],
      ),
  }
}
