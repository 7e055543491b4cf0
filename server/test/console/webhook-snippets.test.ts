/** The programs that the console offers to verify messages, run against a message that a receiver really got. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { atTheEnd } from '../support/cleanup.ts'
import { openReceiver, type Received } from '../support/receiver.ts'
import { openClinic } from '../webhooks/clinic.ts'

const OWN_SECRET = 'a secret of the receiver'

/** Verifies a message with a program. Returns whether it calls the message genuine. */
type Verify = (folder: string, code: string, message: Message) => boolean

interface Message {
  secret: string
  headers: Record<string, string>
  body: string
}

function ran(command: string, args: string[], message: Message): string {
  const env = { ...process.env, MESSAGE: JSON.stringify(message), SECRET: message.secret }
  try {
    return execFileSync(command, args, { env, input: message.body, stdio: 'pipe' }).toString()
  } catch (error) {
    return String((error as { stdout?: Buffer }).stdout)
  }
}

const VERIFY: Record<string, { command: string; verify: Verify }> = {
  'verify.mjs': {
    command: process.execPath,
    verify(folder, code, message) {
      const driver = `const { secret, headers, body } = JSON.parse(process.env.MESSAGE)
        console.log(isGenuine(secret, headers, Buffer.from(body)))`
      const file = join(folder, 'verify.mjs')
      writeFileSync(file, `${code}\n${driver}`)
      return ran(process.execPath, [file], message).trim() === 'true'
    },
  },
  'verify.py': {
    command: 'python3',
    verify(folder, code, message) {
      const driver = `import json, os
m = json.loads(os.environ["MESSAGE"])
print(is_genuine(m["secret"], m["headers"], m["body"].encode()))`
      const file = join(folder, 'verify.py')
      writeFileSync(file, `${code}\n${driver}`)
      return ran('python3', [file], message).trim() === 'True'
    },
  },
  'verify.sh': {
    command: 'openssl',
    verify(folder, code, message) {
      const file = join(folder, 'verify.sh')
      writeFileSync(file, code)
      const named = ['webhook-id', 'webhook-timestamp', 'webhook-signature']
      const args = named.map((name) => String(message.headers[name]))
      return ran('sh', [file, ...args], message).trim() === 'genuine'
    },
  },
}

function isInstalled(command: string): boolean {
  try {
    execFileSync(command, [command === 'openssl' ? 'version' : '--version'], { stdio: 'pipe' })
    return true
  } catch {
    return false
  }
}

const got: { secret: string; message: Received }[] = []

beforeAll(async () => {
  const receiver = await openReceiver()
  const at = await openClinic()
  for (const secret of [undefined, OWN_SECRET]) {
    const hook = await at.register({ url: receiver.url, ...(secret && { secret }) })
    await at.call('POST', `/${hook.id}/test`)
    got.push({ secret: secret ?? hook.secret, message: receiver.received.at(-1) as Received })
  }
})

const FOLDER = new URL('../../../console/src/pages/webhooks/snippets/', import.meta.url)
const files = readdirSync(FOLDER)

it('offers a program in three languages, each of which a test runs', () => {
  expect(files.toSorted()).toEqual(Object.keys(VERIFY))
})

describe.each(files)('the program %s', (file) => {
  const { command, verify } = VERIFY[file] as (typeof VERIFY)[string]
  const code = readFileSync(new URL(file, FOLDER), 'utf8')

  it.skipIf(!isInstalled(command))(
    'accepts a delivered message, and refuses a changed, an old and a foreign one',
    () => {
      const folder = mkdtempSync(join(tmpdir(), 'wardkeep-snippet-'))
      atTheEnd(() => rmSync(folder, { recursive: true }))
      for (const { secret, message } of got) {
        const { headers, body } = message
        const verdict = (change: Partial<Message>) =>
          verify(folder, code, { secret, headers, body, ...change })
        expect(verdict({})).toBe(true)
        expect(verdict({ body: `${body} ` })).toBe(false)
        expect(verdict({ secret: 'another secret of someone' })).toBe(false)
        const old = { ...headers, 'webhook-timestamp': String(message.timestamp - 301) }
        expect(verdict({ headers: old })).toBe(false)
      }
    },
  )
})
