/** The faults of the cluster, one scenario each. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Stack, Way } from './stack.ts'

/** A fault with its repair. */
export interface Scenario {
  title: string
  way: Way
  /** The message with which a node must refuse to start. In such a scenario `run` is not called. */
  refusal?: RegExp
  /** Causes the fault and repairs it. */
  run(stack: Stack, options: { freezeSeconds: number }): Promise<void>
}

const ETCD_AWAY_MS = 30_000
const HAPROXY_SILENT_MS = 20_000
/** How long a killed member stays down. By then its lease has expired and another member leads. */
const NODE_AWAY_MS = 30_000

async function freezeLeader(stack: Stack, { freezeSeconds }: { freezeSeconds: number }) {
  const leader = await stack.leader()
  await leader.freeze()
  await delay(freezeSeconds * 1_000)
  await leader.thaw()
}

/** The scenarios by name, in the order of a run. */
export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  switchover: {
    title: 'planned switchover',
    way: 'haproxy',
    run: (stack) => stack.switchOver(),
  },
  postmaster: {
    title: 'kill -9 of the postmaster',
    way: 'haproxy',
    run: async (stack) => (await stack.leader()).killPostmaster(),
  },
  node: {
    title: 'kill -9 of the whole database node',
    way: 'haproxy',
    async run(stack) {
      const leader = await stack.leader()
      await leader.killAll()
      await delay(NODE_AWAY_MS)
      leader.start()
    },
  },
  freeze: {
    title: 'frozen leader, shutdown-sessions',
    way: 'haproxy',
    run: freezeLeader,
  },
  etcd: {
    title: 'etcd away for 30 s',
    way: 'haproxy',
    async run(stack) {
      await stack.killEtcd()
      await delay(ETCD_AWAY_MS)
      stack.startEtcd()
    },
  },
  haproxy: {
    title: 'HAProxy silent for 20 s',
    way: 'haproxy',
    async run(stack) {
      stack.freezeHaproxy()
      await delay(HAPROXY_SILENT_MS)
      stack.thawHaproxy()
    },
  },
  'freeze-keeping': {
    title: 'frozen leader, sessions kept',
    way: 'haproxy-keeping',
    run: freezeLeader,
  },
  pgbouncer: {
    title: 'switchover behind PgBouncer (session mode)',
    way: 'pgbouncer',
    run: (stack) => stack.switchOver(),
  },
  'transaction-pooling': {
    title: 'start behind PgBouncer (transaction mode)',
    way: 'pgbouncer-transaction',
    refusal: /DATABASE_URL: .*pool_mode = session/,
    run: async () => undefined,
  },
}
