/** A real DNS server on the loopback, with names that resolve as a test requires. */
import { createSocket } from 'node:dgram'
import {
  type Answer,
  AUTHORITATIVE_ANSWER,
  decode,
  encode,
  RECURSION_AVAILABLE,
  RECURSION_DESIRED,
} from 'dns-packet'
import { onTestFinished } from 'vitest'

/**
 * The answer to a query for a name: its addresses of both families, an alias, a server failure, or silence. A name
 * without an entry does not exist.
 */
export type Said = string[] | { cname: string } | 'SERVFAIL' | 'silence'

/** Computes the answer for each query. `index` counts the queries for the name and the type from 0. */
export type Saying = Said | ((index: number, type: 'A' | 'AAAA') => Said | Promise<Said>)

export interface DnsServer {
  /** `127.0.0.1:<port>`, as a resolver expects it. */
  address: string
  /** Every query in the order of arrival, such as "A hooks.test". */
  asked: string[]
  close(): Promise<void>
}

interface Found {
  code: number
  answers: Answer[]
}

const NXDOMAIN = 3
const SERVFAIL = 2

export async function openDns(zone: Record<string, Saying>): Promise<DnsServer> {
  const asked: string[] = []
  const socket = createSocket('udp4')

  async function find(name: string, type: 'A' | 'AAAA'): Promise<Found | undefined> {
    const saying = zone[name.toLowerCase()]
    if (saying === undefined) return { code: NXDOMAIN, answers: [] }
    const index = asked.filter((question) => question === `${type} ${name}`).length - 1
    const said = typeof saying === 'function' ? await saying(index, type) : saying
    if (said === 'silence') return undefined
    if (said === 'SERVFAIL') return { code: SERVFAIL, answers: [] }
    if (Array.isArray(said)) {
      const ofType = said.filter((address) => address.includes(':') === (type === 'AAAA'))
      return { code: 0, answers: ofType.map((data): Answer => ({ name, type, data, ttl: 60 })) }
    }
    const further = await find(said.cname, type)
    const alias: Answer = { name, type: 'CNAME', data: said.cname, ttl: 60 }
    return further && { ...further, answers: [alias, ...further.answers] }
  }

  async function answer(message: Buffer, port: number, host: string): Promise<void> {
    const { id, questions = [] } = decode(message)
    const [question] = questions
    if (question?.type !== 'A' && question?.type !== 'AAAA') return
    asked.push(`${question.type} ${question.name}`)
    const found = await find(question.name, question.type)
    if (!found || isClosed) return
    const flags = AUTHORITATIVE_ANSWER | RECURSION_DESIRED | RECURSION_AVAILABLE | found.code
    const packet = { type: 'response', id, flags, questions, answers: found.answers } as const
    socket.send(encode(packet), port, host)
  }

  let isClosed = false
  socket.on('message', (message, { port, address }) => void answer(message, port, address))
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject)
    socket.bind(0, '127.0.0.1', resolve)
  })
  const close = async () => {
    if (isClosed) return
    isClosed = true
    await new Promise<void>((resolve) => socket.close(resolve))
  }
  onTestFinished(close)
  return { address: `127.0.0.1:${socket.address().port}`, asked, close }
}
