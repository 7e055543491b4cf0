/** A witness as C2SP tlog-witness defines it: a real HTTPS server that keeps the last head of one log. */
import { createHash, generateKeyPairSync, type KeyObject, sign, verify } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { ConfiguredWitness } from '../../src/config/audit-variables.ts'
import { openPostTarget } from '../../src/platform/net/index.ts'
import { makeCertificate } from '../support/certificate.ts'
import { atTheEnd } from '../support/cleanup.ts'
import { isConsistent } from './consistency.ts'

/** The key of a log: its name and its 32 bytes. */
interface LogKey {
  name: string
  publicKey: KeyObject
}

export interface WitnessServer {
  witness: ConfiguredWitness
  target: ReturnType<typeof openPostTarget>
  /** The trusted keys of the log. Without any, the log is unknown. */
  trusted: LogKey[]
  /** The last head that was cosigned. */
  state: { size: number; root: Buffer }
  /** The old sizes in requests, with the status of the answer. */
  requests: { old: number; status: number }[]
  /** Replaces the answer to a request, or only its lines. Undefined to answer as a witness. */
  misbehave: ((response: ServerResponse, lines: string) => void) | undefined
  /** Returns a cosignature line for a text. */
  cosign(text: string, time?: bigint, by?: KeyObject): string
}

const keyId = (name: string, type: number, publicKey: KeyObject): Buffer => {
  const raw = Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url')
  return createHash('sha256')
    .update(`${name}\n`)
    .update(Buffer.of(type))
    .update(raw)
    .digest()
    .subarray(0, 4)
}

export async function openWitnessServer(name: string): Promise<WitnessServer> {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const { cert, key } = makeCertificate()
  const server = createServer({ cert, key }, (request, response) => void answer(request, response))
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const raw = Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url')
  const id = keyId(name, 4, publicKey)
  const vkey = `${name}+${id.toString('hex')}+${Buffer.concat([Buffer.of(4), raw]).toString('base64')}`
  const target = openPostTarget(new URL(`https://127.0.0.1:${port}/log/add-checkpoint`), {
    ca: cert,
  })
  const opened: WitnessServer = {
    witness: {
      url: new URL(`https://127.0.0.1:${port}/log`),
      key: vkey,
      verifier: { name, publicKey },
    },
    target,
    trusted: [],
    state: { size: 0, root: createHash('sha256').digest() },
    requests: [],
    misbehave: undefined,
    cosign(text, time = BigInt(Math.floor(Date.now() / 1000)), by = privateKey) {
      const stamp = Buffer.alloc(8)
      stamp.writeBigUInt64BE(time)
      const signature = sign(null, Buffer.from(`cosignature/v1\ntime ${time}\n${text}`), by)
      return `\u2014 ${name} ${Buffer.concat([id, stamp, signature]).toString('base64')}\n`
    },
  }
  atTheEnd(async () => {
    await target.close()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const {
      status,
      body,
      type = 'text/plain',
    } = request.method === 'POST' && request.url === '/log/add-checkpoint'
      ? judge(opened, Buffer.concat(chunks).toString())
      : { status: 405, body: '' }
    if (opened.misbehave) return opened.misbehave(response, body)
    response.writeHead(status, { 'content-type': type }).end(body)
  }
  return opened
}

interface Judged {
  status: number
  body: string
  type?: string
}

/** Answers a request, with the checks in the order of the specification. */
function judge(witness: WitnessServer, body: string): Judged {
  const [, digits = '', lines = '', note = ''] =
    /^old (0|[1-9]\d*)\n((?:[A-Za-z0-9+/]{43}=\n){0,63})\n(.+)$/s.exec(body) ?? []
  const old = Number(digits)
  const answer = (status: number, text = '', type?: string): Judged => {
    witness.requests.push({ old, status })
    return { status, body: text, ...(type ? { type } : {}) }
  }
  const [, text = '', size = '', encoded = '', signatures = ''] =
    /^([^\n]+\n(\d+)\n([A-Za-z0-9+/]{43}=)\n)\n((?:\u2014 \S+ \S+\n)+)$/.exec(note) ?? []
  if (digits === '' || text === '') return answer(400)
  if (witness.trusted.length === 0) return answer(404)
  if (!witness.trusted.some((key) => hasSigned(key, text, signatures))) return answer(403)
  const head = { size: Number(size), root: Buffer.from(encoded, 'base64') }
  if (old > head.size) return answer(400)
  const { state } = witness
  if (old !== state.size) return answer(409, `${state.size}\n`, 'text/x.tlog.size')
  if (old === head.size && !head.root.equals(state.root)) return answer(409)
  const proof = lines
    .split('\n')
    .slice(0, -1)
    .map((line) => Buffer.from(line, 'base64'))
  const both = { old, oldRoot: state.root, size: head.size, root: head.root }
  if (!isConsistent(both, proof)) return answer(422)
  witness.state = head
  return answer(200, witness.cosign(text))
}

/** Returns whether the key of a log has signed a text (type Ed25519 of C2SP signed-note). */
function hasSigned({ name, publicKey }: LogKey, text: string, signatures: string): boolean {
  return signatures.split('\n').some((line) => {
    const [, by, encoded = ''] = line.split(' ')
    const bytes = Buffer.from(encoded, 'base64')
    return (
      by === name &&
      bytes.subarray(0, 4).equals(keyId(name, 1, publicKey)) &&
      verify(null, Buffer.from(text), publicKey, bytes.subarray(4))
    )
  })
}
