/** Connects to an address with several hosts, of which only one can write. */
import pg from 'pg'
import { withDeadline } from './deadline.ts'
import { ServerRefused } from './failures.ts'
import { introduce } from './first-message.ts'

/** The time limit for probing all hosts. The rest of the connection timeout of 5 s is for connecting. */
const SEARCH_MS = 4_000
/** SQLSTATE classes of rejected credentials and of a missing database. All hosts would return the same error. */
const REFUSED = /^(28|3D)/

/** Closes a connection immediately. Pending queries on it fail. */
export function hangUp(client: pg.Client | pg.PoolClient): void {
  const { connection } = client as unknown as { connection: { stream: { destroy(): void } } }
  connection.stream.destroy()
}

/** Returns whether a client was ended or its socket closed. The driver would connect such a client nevertheless. */
function isGivenUp(client: pg.Client): boolean {
  const { _ending, connection } = client as unknown as {
    _ending: boolean
    connection: { stream: { destroyed: boolean } }
  }
  return _ending || connection.stream.destroyed
}

export interface Hosts {
  /**
   * Finds a host that can write, or any host for reads only. Tries the last good host first. Concurrent callers share a
   * search. @throws ServerRefused if no host is usable, with the reason for each host
   */
  find(): Promise<HostAndPort>
}

type HostAndPort = Pick<pg.Client, 'host' | 'port'>

const known = new WeakMap<object, Hosts>()

export interface HostsOptions {
  /** The URL of each host, in the order to try them. */
  urls: readonly string[]
  /** Whether a standby or a read-only server is acceptable. */
  acceptsReadOnly: boolean
}

/** Returns the hosts of an address. All connections to the address share the last good host. */
export function hostsOf(address: object, options: HostsOptions): Hosts {
  const hosts = known.get(address) ?? openHosts(options)
  known.set(address, hosts)
  return hosts
}

function openHosts({ urls, acceptsReadOnly }: HostsOptions): Hosts {
  const order = [...urls]
  let finding: Promise<HostAndPort> | undefined

  async function search(): Promise<HostAndPort> {
    const reasons: string[] = []
    for (const url of [...order]) {
      const probe = new pg.Client({ connectionString: url, application_name: 'wardkeep' })
      try {
        const found = await tryHost(probe, acceptsReadOnly, SEARCH_MS / order.length)
        order.splice(order.indexOf(url), 1)
        order.unshift(url)
        return found
      } catch (error) {
        const { code, message } = error as NodeJS.ErrnoException
        if (REFUSED.test(code ?? '')) throw error
        reasons.push(`${probe.host}:${probe.port}: ${message || code}`)
      }
    }
    throw new ServerRefused(`No database host is usable. ${reasons.join(' ')}`)
  }

  return {
    find() {
      finding ??= search().finally(() => {
        finding = undefined
      })
      return finding
    },
  }
}

async function tryHost(
  probe: pg.Client,
  acceptsReadOnly: boolean,
  ms: number,
): Promise<HostAndPort> {
  probe.on('error', () => undefined)
  const connecting = probe
    .connect()
    .then(() => introduce(probe, { settings: { timezone: 'UTC' }, acceptsReadOnly }))
  try {
    await withDeadline(connecting, ms)
    const { host, port } = probe
    return { host, port }
  } finally {
    connecting.catch(() => undefined)
    void probe.end().catch(() => undefined)
    hangUp(probe)
  }
}

export interface HostClientConfig extends pg.ClientConfig {
  hosts?: Hosts
}

type Connected = (error: Error | null, client?: pg.Client) => void

/** A client whose `connect` first finds a usable host, if the address has several. */
export class HostClient extends pg.Client {
  readonly #hosts: Hosts | undefined

  constructor(config: HostClientConfig) {
    super(config)
    this.#hosts = config.hosts
  }

  override connect(): Promise<pg.Client>
  override connect(connected: Connected): void
  override connect(connected?: Connected): Promise<pg.Client> | undefined {
    const opening = this.open()
    if (!connected) return opening
    opening.then(() => connected(null, this), connected)
    return undefined
  }

  protected async open(): Promise<pg.Client> {
    // The driver reads the host when it connects. A client cannot connect twice, so others probe the hosts.
    if (this.#hosts) Object.assign(this, await this.#hosts.find())
    if (isGivenUp(this)) throw new Error('Connection terminated')
    return super.connect()
  }
}
