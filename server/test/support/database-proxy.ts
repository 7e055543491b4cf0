/** A TCP proxy between the service and its database. Tests can cut, refuse, stall and mute its connections. */
import { createConnection, createServer, type Server, type Socket } from 'node:net'
import { atTheEnd } from './cleanup.ts'
import type { TestDatabase } from './database.ts'

export interface DatabaseProxy {
  /** The database's URL through the proxy. */
  readonly url: string
  /** Ends all connections. New connections are accepted. */
  cut(): void
  /** Ends all connections, and refuses new connections until `open` is called. */
  refuse(): Promise<void>
  /**
   * Ends the connections that listen for notifications, and refuses new ones until `open` is called, so that no
   * notification arrives.
   */
  deafen(): void
  /** Keeps all connections, but forwards no data until `open` is called. */
  stall(): void
  /** Restores normal operation. */
  open(): Promise<void>
  /**
   * Forwards the next COMMIT of a transaction that contains `words`, and cuts its connection before the answer. Commits
   * of other transactions are not affected.
   */
  loseCommitAnswerOf(words: string): void
  /** Holds back the database's answer to the next query that contains `words`, and all data after that answer. */
  holdAnswerOf(words: string): HeldAnswer
  /** Returns how many answers to COMMIT `loseCommitAnswerOf` has dropped. */
  readonly lost: () => number
  /** Returns the number of current connections. */
  readonly links: () => number
}

export interface HeldAnswer {
  /** Resolves once the query has been forwarded. */
  asked: Promise<void>
  /** Resolves once the database has answered with rows. */
  answered: Promise<void>
  release(): void
}

interface Link {
  service: Socket
  database: Socket
  isListener: boolean
}

interface State {
  isStalled: boolean
  isDeaf: boolean
  /** Words in the transaction whose COMMIT answer is dropped. */
  losing: string | undefined
  lost: number
  holding: Holding | undefined
}

interface Holding {
  words: string
  /** The data that is held back. Undefined until the query has been sent. */
  answer: { to: Socket; bytes: Buffer[] } | undefined
  asked(): void
  answered(): void
}

/** Text that only the first message of a listening connection contains. */
const LISTENER = "set lock_timeout = '300ms'"
const ROWS = /SELECT [1-9]\d*\0/
const COMMIT = /(?:^|\W)commit\0/

/** Opens a proxy in front of the database. The proxy closes at the end of the test. */
export async function proxyTo(database: TestDatabase): Promise<DatabaseProxy> {
  const links = new Set<Link>()
  const state: State = {
    isStalled: false,
    isDeaf: false,
    losing: undefined,
    lost: 0,
    holding: undefined,
  }
  const server = createServer((service) => {
    const link = { service, database: connectTo(database), isListener: false }
    links.add(link)
    join(link, state, () => links.delete(link))
  })
  const cut = (which: (link: Link) => boolean = () => true) => {
    for (const link of [...links].filter(which)) {
      link.service.destroy()
      link.database.destroy()
    }
  }
  await listen(server, 0)
  const { port } = server.address() as { port: number }
  const shut = async () => {
    cut()
    if (server.listening) await new Promise((resolve) => server.close(resolve))
  }
  atTheEnd(shut)
  return {
    url: throughPort(database, port),
    cut: () => cut(),
    refuse: shut,
    deafen() {
      state.isDeaf = true
      cut(({ isListener }) => isListener)
    },
    stall() {
      state.isStalled = true
      for (const { service, database: far } of links) {
        service.pause()
        far.pause()
      }
    },
    async open() {
      state.isStalled = false
      state.isDeaf = false
      for (const { service, database: far } of links) {
        service.resume()
        far.resume()
      }
      if (!server.listening) await listen(server, port)
    },
    loseCommitAnswerOf(words) {
      state.losing = words
    },
    holdAnswerOf(words) {
      const { promise: answered, resolve } = Promise.withResolvers<void>()
      const { promise: asked, resolve: ask } = Promise.withResolvers<void>()
      const holding: Holding = { words, answer: undefined, asked: ask, answered: resolve }
      state.holding = holding
      const release = () => {
        state.holding = undefined
        if (holding.answer) holding.answer.to.write(Buffer.concat(holding.answer.bytes))
      }
      return { asked, answered, release }
    },
    lost: () => state.lost,
    links: () => links.size,
  }
}

function join(link: Link, state: State, ended: () => void): void {
  const { service, database } = link
  let isMuted = false
  let sent = ''
  service.on('data', (bytes) => {
    link.isListener ||= bytes.includes(LISTENER)
    if (link.isListener && state.isDeaf) return void service.destroy()
    const { holding } = state
    if (holding && !holding.answer && bytes.includes(holding.words)) {
      holding.answer = { to: service, bytes: [] }
      holding.asked()
    }
    if (state.losing !== undefined) {
      sent += bytes.toString('latin1')
      if (COMMIT.test(sent)) {
        isMuted = sent.includes(state.losing)
        if (isMuted) state.losing = undefined
        sent = ''
      }
    }
    database.write(bytes)
  })
  let answered = ''
  database.on('data', (bytes) => {
    const { holding } = state
    if (holding?.answer?.to === service) {
      holding.answer.bytes.push(bytes)
      if (ROWS.test(bytes.toString('latin1'))) holding.answered()
      return
    }
    if (!isMuted) return void service.write(bytes)
    // The answer counts only from here: the server answers earlier statements first, and has not committed by then.
    answered += bytes.toString('latin1')
    if (!answered.includes('COMMIT\0')) return
    state.lost += 1
    service.destroy()
  })
  for (const [one, other] of [
    [service, database],
    [database, service],
  ] as const) {
    one.on('error', () => other.destroy())
    one.on('close', () => {
      other.destroy()
      ended()
    })
  }
  if (!state.isStalled) return
  service.pause()
  database.pause()
}

function connectTo({ address }: TestDatabase): Socket {
  if ('url' in address) {
    const { hostname, port } = new URL(address.url)
    return createConnection(Number(port || 5432), hostname)
  }
  const { host, port } = address
  return host.startsWith('/')
    ? createConnection(`${host}/.s.PGSQL.${port}`)
    : createConnection(port, host)
}

function throughPort({ address }: TestDatabase, port: number): string {
  const url = new URL('url' in address ? address.url : 'postgres://localhost')
  if (!('url' in address)) {
    url.username = address.user
    url.password = address.password ?? ''
    url.pathname = `/${address.database}`
  }
  url.hostname = '127.0.0.1'
  url.port = String(port)
  return url.href
}

async function listen(server: Server, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, '127.0.0.1', () => {
      server.off('error', reject)
      resolve()
    })
  })
}
