/** The PostgreSQL servers under Patroni: which one leads, and the faults that a test can cause. */
import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import { childrenOf } from '../support/processes.ts'
import { until } from '../support/until.ts'
import type { MemberPlace } from './configuration.ts'
import {
  type Account,
  postmasterOf,
  type RunningProgram,
  signalProcess,
  startProgram,
} from './processes.ts'
import type { Programs } from './programs.ts'

/** A PostgreSQL server with its Patroni. */
export interface Member {
  readonly place: MemberPlace
  start(): void
  /** Ends only the postmaster, with SIGKILL. */
  killPostmaster(): Promise<void>
  /** Ends Patroni, the postmaster and all its processes, with SIGKILL. */
  killAll(): Promise<void>
  /** Stops the postmaster and Patroni. The processes of connections continue. */
  freeze(): Promise<void>
  /** Continues what `freeze` stopped. */
  thaw(): Promise<void>
  /** Ends Patroni and shuts the server down, which removes its shared memory. */
  stop(): Promise<void>
}

/** A member as Patroni reports it. */
interface MemberState {
  name: string
  role: string
  state: string
  lag?: number | string
}

/** Prepares a member. Its configuration file must exist. */
export function openMember(
  place: MemberPlace,
  { patroni }: Programs,
  account: Account | undefined,
): Member {
  let running: RunningProgram | undefined
  const data = path.join(place.folder, 'data')
  const both = async (name: NodeJS.Signals) => {
    const postmaster = await postmasterOf(data)
    if (running) signalProcess(running.pid, name)
    if (postmaster !== undefined) signalProcess(postmaster, name)
  }
  return {
    place,
    start() {
      const options = { account, cwd: place.folder, log: 'patroni' }
      running = startProgram(patroni, [path.join(place.folder, 'patroni.yml')], options)
    },
    async killPostmaster() {
      const postmaster = await postmasterOf(data)
      if (postmaster === undefined) throw new Error(`${place.name} has no postmaster`)
      signalProcess(postmaster, 'SIGKILL')
    },
    async killAll() {
      const postmaster = await postmasterOf(data)
      const children = postmaster === undefined ? [] : await childrenOf(postmaster).catch(() => [])
      await both('SIGKILL')
      for (const child of children) signalProcess(child, 'SIGKILL')
      await running?.ended
    },
    freeze: () => both('SIGSTOP'),
    thaw: () => both('SIGCONT'),
    async stop() {
      if (running) signalProcess(running.pid, 'SIGKILL')
      await running?.ended
      await both('SIGCONT')
      // Uses the immediate shutdown mode, which also works for a server that is starting.
      const isGone = async () => {
        const postmaster = await postmasterOf(data)
        if (postmaster !== undefined) signalProcess(postmaster, 'SIGQUIT')
        return postmaster === undefined || undefined
      }
      await until('the server is shut down', isGone, 5_000).catch(() => undefined)
    },
  }
}

/** Returns the cluster state from any member that answers. */
async function statesOf(members: readonly Member[]): Promise<MemberState[]> {
  const asked = members.map(async ({ place }) => {
    const response = await fetch(`http://127.0.0.1:${place.restPort}/cluster`, {
      signal: AbortSignal.timeout(2_000),
    })
    return ((await response.json()) as { members: MemberState[] }).members
  })
  return Promise.any(asked)
}

/** Waits for a leader. Returns it. */
export function leaderOf(members: readonly Member[]): Promise<Member> {
  return until('a member leads', async () => {
    const leader = (await statesOf(members)).find(
      ({ role, state }) => role === 'leader' && state === 'running',
    )
    return members.find(({ place }) => place.name === leader?.name)
  })
}

/** Waits until one member leads, all others replicate from it, and one of them synchronously. */
export async function untilWhole(members: readonly Member[], patience = 90_000): Promise<void> {
  await until(
    'all members replicate',
    async () => {
      const states = await statesOf(members)
      const replicas = states.filter(
        ({ state, lag, role }) =>
          role !== 'leader' && /^(running|streaming)$/.test(state) && lag === 0,
      )
      const isWhole =
        states.some(({ role, state }) => role === 'leader' && state === 'running') &&
        replicas.length === members.length - 1 &&
        replicas.some(({ role }) => role === 'sync_standby')
      return isWhole || undefined
    },
    patience,
  )
}

/** Moves the leadership to a synchronous standby, with `patronictl`. */
export async function switchOver(members: readonly Member[], programs: Programs): Promise<void> {
  const [first] = members
  if (!first) throw new Error('there are no members')
  const configuration = path.join(first.place.folder, 'patroni.yml')
  const args = ['-c', configuration, 'switchover', 'wardkeep', '--force']
  await promisify(execFile)(programs.patronictl, args, {
    timeout: 60_000,
    env: { PATH: process.env.PATH, LANG: 'C.UTF-8', LC_ALL: 'C.UTF-8' },
  })
}
