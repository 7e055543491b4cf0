/** Patient fields are in plain text only in responses to users who may see these fields. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { openRotations } from '../encryption/scene.ts'
import { everythingIn } from '../support/database-contents.ts'
import { openReceiver, type Receiver } from '../support/receiver.ts'
import { openService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import { openPatientScene, type PatientScene } from './scene.ts'

/** Each field contains a text that appears nowhere else. */
const FIELDS = {
  full_name: 'Quirina Zwetschgenbaum',
  birth_date: '1927-02-28',
  identifiers: [{ system: 'zunftkasse', value: 'QX7719934' }],
  phone: '+49 5317 7719',
  email: 'quirina@zwetschge.example',
  address: 'Unkenweg 77, Quakenbruck',
  allergies: ['Pfifferlinge'],
  notes: 'Kratzbaum im Flur.',
}
const LATER = {
  full_name: 'Quirina Apfelbaum',
  birth_date: '1928-02-29',
  identifiers: [{ system: 'zunftkasse', value: 'QX7719935' }],
  phone: '+49 5317 7720',
  email: 'quirina@apfel.example',
  address: 'Krotenweg 78, Quakenbruck',
  allergies: ['Steinpilze'],
  notes: 'Klettergeruest im Hof.',
}
const REASON = 'Bewusstlos aufgefunden'
/** The unique texts of all fields, including their normalized forms for searches. None may appear anywhere else. */
const MARKS = [
  /quirina|zwetschge|apfelbaum|apfel\.example/i,
  /192[78]-02-2[89]/,
  /zunftkasse|qx77199/i,
  /5317\D?77/,
  /unkenweg|krotenweg|quakenbruck/i,
  /pfifferlinge|steinpilze/i,
  /kratzbaum|klettergeruest/i,
  /bewusstlos/i,
]

let service: Service
let scene: PatientScene
let receiver: Receiver
const answers: string[] = []

/** Runs every operation on a patient, once successfully and once refused. */
beforeAll(async () => {
  service = await openService({ background: ['encryption', 'jobs', 'webhooks'] })
  scene = await openPatientScene(service)
  receiver = await openReceiver()
  const admin = scene.as('admin')
  const webhook = { url: receiver.url, events: ['*'] }
  expect((await admin('POST', '/api/webhooks/register', webhook)).status).toBe(201)
  const made = await scene.patient({ ...FIELDS, department_id: scene.elsewhere })
  const at = `/api/patients/${made.id}`
  for (const search of [FIELDS.full_name, 'zunftkasse|QX7719934', FIELDS.phone, FIELDS.email]) {
    const found = await admin('POST', '/api/patients/search', { search })
    expect(found.body.items, search).toHaveLength(1)
    await admin('GET', `/api/patients?${new URLSearchParams({ search })}`)
  }
  const birth_date = FIELDS.birth_date
  await admin('GET', `/api/patients?${new URLSearchParams({ birth_date })}`)
  const opened = { patient_id: made.id, purpose: 'emergency', reason: REASON }
  expect((await scene.as('doctor')('POST', '/api/patients/break-glass', opened)).status).toBe(200)
  // Refused requests: a duplicate identifier, and each field in an invalid form.
  const refused = [
    await admin('POST', '/api/patients', FIELDS),
    await admin('PUT', at, { full_name: `${FIELDS.full_name}\u202e`, email: `${FIELDS.email} x` }),
    await admin('PUT', at, { birth_date: '1927-02-29', phone: FIELDS.phone.repeat(9) }),
    await admin('PUT', at, { identifiers: [...FIELDS.identifiers, ...FIELDS.identifiers] }),
    await admin('PUT', at, { address: `${FIELDS.address}\0`, notes: [FIELDS.notes] }),
  ]
  expect(refused.map(({ status }) => status)).toEqual([409, 422, 422, 422, 422])
  answers.push(...refused.map(({ body }) => JSON.stringify(body)))
  expect((await admin('PUT', at, LATER)).status).toBe(200)
  await admin('POST', '/api/admin/cache/warmup', { patient_ids: [made.id] })
  expect((await admin('GET', at)).body).toMatchObject(LATER)
  for (const [method, path] of [
    ['GET', `${at}/accesses`],
    ['GET', `${at}/export`],
    ['DELETE', at],
    ['POST', `${at}/restore`],
  ] as const)
    expect((await admin(method, path)).status, path).toBeLessThan(300)
  const rotations = await openRotations(service)
  expect((await rotations.begin()).status).toBe(200)
  await rotations.until('completed')
  // The record can no longer be decrypted, and the log reports that.
  await service.database.sql(
    'update patients set sealed_notes = substr(sealed_notes, 1, 60) where id = $1',
    [made.id],
  )
  await admin('POST', '/api/admin/cache/invalidate', { patient_id: made.id })
  const broken = await admin('GET', at)
  expect(broken.status).toBe(500)
  answers.push(JSON.stringify(broken.body))
  await until(
    'the webhook has heard of the last',
    () =>
      receiver.received.some(({ body }) => String(body).includes('patient.restored')) || undefined,
  )
})

const told = (text: string) => MARKS.filter((mark) => mark.test(text)).map(String)

test('no row of any table contains unencrypted patient fields, as text or as bytes', async () => {
  const text = await everythingIn(service.database)
  // Checks that the text covers the whole database, including binary columns.
  expect(text).toContain('patient.break_glass')
  expect(text).toMatch(/\\x02[0-9a-f]{100}/)
  expect(told(text)).toEqual([])
  const values = [FIELDS, LATER].flatMap((fields) => Object.values(fields))
  for (const value of [...values, REASON])
    for (const part of [value].flat().map((one) => (typeof one === 'string' ? one : one.value)))
      expect(text).not.toContain(Buffer.from(part).toString('hex'))
})

test('logs, metrics, error responses, webhooks and mails contain no patient fields', async () => {
  expect(JSON.stringify(service.logged)).toContain('/api/patients/')
  expect(told(JSON.stringify(service.logged))).toEqual([])
  expect(told(await service.app.metrics.registry.metrics())).toEqual([])
  expect(told(answers.join('\n'))).toEqual([])
  const hooks = receiver.received.map(({ body }) => String(body)).join('\n')
  expect(hooks).toContain('patient.created')
  expect(told(hooks)).toEqual([])
  const folder = join(service.dataDir, 'outbox')
  const mails = await Promise.all(
    (await readdir(folder)).map((name) => readFile(join(folder, name), 'utf8')),
  )
  expect(mails.length).toBeGreaterThan(0)
  // Base64, which mails may use, would hide the unique texts.
  expect(mails.join('\n')).not.toMatch(/^content-transfer-encoding: base64/im)
  expect(told(mails.join('\n'))).toEqual([])
})
