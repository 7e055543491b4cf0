/** Runs the commands of the tutorials, as they are written, on a fresh demo clinic. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from 'vitest'
import { atTheEnd } from '../support/cleanup.ts'
import { migratedDatabase } from '../support/database.ts'
import { scratch } from '../support/scratch.ts'
import { openService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { blocksOf, textOf } from './documents.ts'

const WRITTEN = 'http://127.0.0.1:8080'
const env = { ...process.env, PATH: `${path.dirname(process.execPath)}:${process.env.PATH}` }

let folder: string
let address: string

beforeAll(async () => {
  folder = await scratch()
  const service = await openService({
    database: await migratedDatabase(),
    config: { DEMO: true },
    background: ['webhooks'],
  })
  address = await service.app.server.listen({ host: '127.0.0.1', port: 0 })
})

/** Runs shell blocks in one shell, as a reader does in one terminal. Returns their output. */
async function run(blocks: readonly string[]): Promise<string> {
  const script = blocks.join('\necho\n').replaceAll(WRITTEN, address)
  const options = { cwd: folder, env }
  return (await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script], options)).stdout
}

test('the tutorial first-clinic.md adds a department and a doctor, who reads a patient', async () => {
  const printed = await run(blocksOf(textOf('docs/tutorials/first-clinic.md'), 'sh'))
  const lines = printed.split('\n').filter((line) => line !== '')
  const [, dana, patient, total, accesses, entries] = lines.map((line) =>
    line.startsWith('{') ? JSON.parse(line) : line,
  )
  expect(dana).toMatchObject({ email: 'dana@demo.local', role: 'doctor' })
  expect(patient).toMatchObject({ full_name: 'Paula Patient', department_id: dana.department_id })
  expect(total).toBe('1')
  const actions = accesses.items.map(({ action }: { action: string }) => action)
  expect(actions).toEqual(expect.arrayContaining(['patient.created', 'patient.read']))
  expect(entries.items).toHaveLength(5)
})

test('the tutorial first-integration.md receives signed messages', async () => {
  const page = textOf('docs/tutorials/first-integration.md')
  const [shown = ''] = blocksOf(page, 'text')
  const [receiver = ''] = blocksOf(page, 'js')
  const [signIn = '', register = '', check = '', event = '', deliveries = ''] = blocksOf(page, 'sh')
  const port = await freePort()
  const setUp = [signIn, register.replaceAll('4000', port)]
  const later = `${signIn}\nID=$(cat id)`
  await run([...setUp, 'echo "$ID" > id'])
  await writeFile(path.join(folder, 'receiver.mjs'), receiver.replaceAll('4000', port))
  let printed = ''
  const child = spawn(process.execPath, ['receiver.mjs'], { cwd: folder, env })
  atTheEnd(() => void child.kill())
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text
  })
  await once(child.stdout, 'data')
  expect(printed).toBe('waiting for messages\n')

  const refused = await fetch(`http://127.0.0.1:${port}/hook`, { method: 'POST', body: '{}' })
  expect(refused.status).toBe(401)
  await run([later, check, event])
  await until(
    'all messages have arrived',
    async () => printed.includes('user.unblocked') || undefined,
  )
  expect(printed).toMatch(/webhook\.test: /)
  expect(printed.endsWith(shown)).toBe(true)
  expect(await run([later, deliveries])).toContain('"delivered"')
})

async function freePort(): Promise<string> {
  const { createServer } = await import('node:net')
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  await promisify(server.close.bind(server))()
  return String(port)
}
