/** A backup that a node hands out is not deleted there. */
import { once } from 'node:events'
import { truncate } from 'node:fs/promises'
import { get, type IncomingMessage } from 'node:http'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { type Person, superadmin } from '../support/clinics.ts'
import { until } from '../support/embedded.ts'
import { openService, type Service } from '../support/service.ts'
import { fileOf, make } from './support.ts'

/** More than any socket holds: a reader who stops makes the node stop. */
const LARGE = 64 * 1024 ** 2

let service: Service
let root: Person
let address: string

beforeAll(async () => {
  service = await openService()
  root = await superadmin(service)
  address = await service.app.server.listen({ host: '127.0.0.1', port: 0 })
})

const remove = (id: string) =>
  service.call('DELETE', `/api/admin/backup/${id}`, { token: root.token })

/** Begins to download it, and reads no further. */
async function beginReading(id: string): Promise<IncomingMessage> {
  const headers = { authorization: `Bearer ${root.token}` }
  const asked = get(`${address}/api/admin/backup/download/${id}`, { headers })
  onTestFinished(() => void asked.destroy())
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  expect(answer.statusCode).toBe(200)
  // What is left of it may be lost on the way.
  answer.on('error', () => undefined)
  return answer
}

test.each([
  ['has it all', (answer: IncomingMessage) => void answer.resume()],
  ['has left', (answer: IncomingMessage) => void answer.destroy()],
])('one that is downloaded stays until whoever reads it %s', async (_, end) => {
  const id = await make(service, root)
  await truncate(fileOf(service, id), LARGE)
  const answer = await beginReading(id)
  expect(await remove(id)).toMatchObject({ status: 409, body: { code: 'backup_in_use' } })
  end(answer)
  await until('nobody to read it', async () => (await remove(id)).status === 200 || undefined)
})
