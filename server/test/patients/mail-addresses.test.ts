/** E-mail addresses with internationalized domains, of patients and of accounts. */
import { beforeAll, expect, it } from 'vitest'
import { openService, type Service } from '../support/service.ts'
import { openPatientScene, type PatientScene } from './scene.ts'

let service: Service
let scene: PatientScene

beforeAll(async () => {
  service = await openService()
  scene = await openPatientScene(service)
})

it.each([
  ['info@praxis-müller.example', 'INFO@xn--praxis-mller-klb.example'],
  ['почта@почта.рф', 'Почта@ПОЧТА.РФ'],
  ['jörg@example.org', 'Jörg@example.org'],
])(
  'the address %s of a patient is stored unchanged, and a search for %s finds the patient',
  async (email, search) => {
    const { id } = await scene.patient({ email })
    const admin = scene.as('admin')
    expect((await admin('GET', `/api/patients/${id}`)).body.email).toBe(email)
    const { body } = await admin('POST', '/api/patients/search', { search })
    expect(body.items.map((one: { id: number }) => one.id)).toEqual([id])
  },
)

it('an account with an internationalized domain is found by the ASCII form of the domain', async () => {
  const admin = scene.as('admin')
  const user = { full_name: 'Jo', password: 'Quiet-Harbour-60', role: 'nurse' }
  const created = await admin('POST', '/api/admin/users', {
    ...user,
    email: 'jo@klinik-süd.example',
  })
  expect(created).toMatchObject({ status: 201, body: { email: 'jo@xn--klinik-sd-x9a.example' } })
  const again = { ...user, email: 'JO@KLINIK-SÜD.example' }
  expect((await admin('POST', '/api/admin/users', again)).status).toBe(409)
  const { subdomain } = scene.clinic
  const signIn = { email: 'Jo@klinik-süd.example', password: user.password, subdomain }
  expect((await service.call('POST', '/api/auth/login', { body: signIn })).status).toBe(200)
})
