/** Search, uniqueness and order of names use the same folding in every list. */
import { beforeAll, expect, it } from 'vitest'
import { type Clinic, makeClinic, type Person, superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'

let service: Service
let root: Person
let north: Clinic

const ask = async (path: string, query: Record<string, string | number> = {}) => {
  const answer = await service.call('GET', path, { token: north.people.admin.token, query })
  expect(answer.status).toBe(200)
  return answer.body
}
const post = (path: string, body: object) =>
  service.call('POST', path, { token: north.people.admin.token, body })

let count = 0
async function createUser(full_name: string): Promise<number> {
  count += 1
  const body = {
    full_name,
    email: `n${count}@names.test`,
    password: 'Quiet-Harbour-60',
    role: 'nurse',
  }
  const created = await post('/api/admin/users', body)
  expect(created.status).toBe(201)
  return created.body.id
}

beforeAll(async () => {
  service = await openService()
  root = await superadmin(service)
  north = await makeClinic(service, root, 'names')
})

it.each([
  ['Chloé Lefèvre', 'chloe lefevre'],
  ['Jörg Ärztel', 'JORG arztel'],
  ["Siobhán O'Shea", 'O’Shea'],
  ['Łukasz Żółć', 'lukasz zolc'],
  ['İbrahim Işık', 'IBRAHIM ISIK'],
  ['山田 太郎', '山田太郎'],
  ['محمد علی', 'علي'],
  ['Ward १२', 'ward 12'],
  ['100%_sure', '%_s'],
])('a search finds the user %s by %s', async (full_name, search) => {
  const id = await createUser(full_name)
  const { items } = await ask('/api/admin/users', { search, limit: 100 })
  expect(items.map((user: { id: number }) => user.id)).toContain(id)
})

it('a search finds a renamed user only by the new name, and by the address as typed', async () => {
  const id = await createUser('Björk Eins')
  const token = north.people.admin.token
  await service.call('PUT', `/api/admin/users/${id}`, { token, body: { full_name: 'Åse Zwei' } })
  const idsOf = async (search: string) =>
    (await ask('/api/admin/users', { search })).items.map((user: { id: number }) => user.id)
  expect(await idsOf('ase zwei')).toEqual([id])
  expect(await idsOf('bjork eins')).toEqual([])
  expect(await idsOf(`N${count}@Names`)).toEqual([id])
})

const ALPHABET = [
  'Adam',
  'adam',
  'Adler',
  'Ärzte',
  'de Vries',
  'DeVos',
  'Émile',
  'eve',
  'Łaski',
  'Zoe',
]

it.each(['asc', 'desc'])(
  'users are sorted by their folded names, %s, on every page',
  async (sort_order) => {
    const clinic = await makeClinic(service, root, `order-${sort_order}`)
    const { token } = clinic.people.admin
    for (const name of ALPHABET.toReversed()) {
      count += 1
      const body = {
        full_name: `${name} X`,
        email: `o${count}@order.test`,
        password: 'Quiet-Harbour-60',
        role: 'nurse',
      }
      expect((await service.call('POST', '/api/admin/users', { token, body })).status).toBe(201)
    }
    const names: string[] = []
    for (let after: string | undefined = ''; after !== undefined; ) {
      const query: Record<string, string | number> = {
        search: '@order.test',
        sort_by: 'full_name',
        sort_order,
        limit: 3,
        ...(after && { after }),
      }
      const { body } = await service.call('GET', '/api/admin/users', { token, query })
      names.push(
        ...body.items.map((user: { full_name: string }) => user.full_name.replace(' X', '')),
      )
      after = body.next ?? undefined
    }
    expect(names).toEqual(sort_order === 'asc' ? ALPHABET : ALPHABET.toReversed())
  },
)

it('a department with the same folded name as another is rejected, and departments are sorted by folded name', async () => {
  const create = async (name: string) => (await post('/api/admin/departments', { name })).status
  expect(await create('Radiologie Łódź')).toBe(201)
  for (const same of [
    'radiologie lodz',
    'Radiologie  Łódź',
    'Radiologie\u00a0Łódź',
    'RADIOLOGIE-LODZ',
  ])
    expect(await create(same), same).toBe(409)
  for (const name of ['Zoe', 'adam', 'Ärzte']) expect(await create(name)).toBe(201)
  const { items } = await ask('/api/admin/departments', { sort_by: 'name', limit: 100 })
  const names = items.map((one: { name: string }) => one.name)
  expect(names.filter((name: string) => /^(Zoe|adam|Ärzte|Radio)/.test(name))).toEqual([
    'adam',
    'Ärzte',
    'Radiologie Łódź',
    'Zoe',
  ])
  const found = await ask('/api/admin/departments', { search: 'LODZ' })
  expect(found.items).toHaveLength(1)
  // A department does not conflict with itself when only the spelling of its name changes.
  const path = `/api/admin/departments/${found.items[0].id}`
  const { token } = north.people.admin
  expect(
    (await service.call('PUT', path, { token, body: { name: 'Radiologie Lodz' } })).status,
  ).toBe(200)
})

it('tenants are sorted by their folded names', async () => {
  for (const name of ['Zürich', 'Örebro', 'oslo', 'Łódź'])
    await service.call('POST', '/api/admin/tenants', {
      token: root.token,
      body: { name, subdomain: `t-${++count}` },
    })
  const order = (rows: { name: string }[]) =>
    rows.map(({ name }) => name).filter((name) => /^(Z|Ö|o|Ł)/.test(name))
  const expected = ['Łódź', 'Örebro', 'oslo', 'Zürich']
  const all = await service.call('GET', '/api/admin/tenants', { token: root.token })
  expect(order(all.body)).toEqual(expected)
})

it('startup folds names again that another release wrote, and marks departments that become duplicates', async () => {
  const { sql } = service.database
  await sql(`insert into departments (tenant_id, name) values ($1, 'Ærø'), ($1, 'Aero')`, [
    north.id,
  ])
  await sql(`update users set full_name = 'Ægir Ø' where email = 'n1@names.test'`)
  const unfolded = () =>
    sql(
      'select from departments where not is_folded union all select from users where not is_folded',
    )
  expect(await unfolded()).not.toEqual([])
  service.clock.elapse(60_000)
  await expect.poll(unfolded).toEqual([])
  expect((await ask('/api/admin/users', { search: 'aegir o' })).items).toHaveLength(1)
  expect((await ask('/api/admin/departments', { search: 'aero' })).items).toHaveLength(2)
  const doubles = await sql('select from departments where is_double')
  expect(doubles).toHaveLength(1)
  expect((await post('/api/admin/departments', { name: 'AERO' })).status).toBe(409)
})
