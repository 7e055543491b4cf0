/** Runs two nodes on a real cluster and causes every fault of the scenarios: `npm run chaos:cluster`. */
import { execFileSync } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import { longestPause } from './checks.ts'
import { type Clinic, openClinic, statusOf } from './clinic.ts'
import { faultsOf, findingsOf } from './evidence.ts'
import { isAcknowledged, type Ledger, openLedger } from './ledger.ts'
import { startLoad } from './load.ts'
import { type Node, newRootKey, openNode } from './nodes.ts'
import { type ClusterOptions, readOptions } from './options.ts'
import { freePorts } from './ports.ts'
import { findPrograms, patroniWarning } from './programs.ts'
import { type MessageReceiver, openMessageReceiver } from './receiver.ts'
import { reportOf, type ScenarioResult } from './report.ts'
import { SCENARIOS, type Scenario } from './scenarios.ts'
import { openStack, type Stack, type Way } from './stack.ts'

/** How long the load runs before the fault, and again after both nodes have resumed writing. */
const STEADY_MS = 3_000
/** The users to block. One is blocked every few seconds, so a long fault uses all of them. */
const USERS = 10
const RETURN_PATIENCE_MS = 60_000

interface Run {
  stack: Stack
  nodes: readonly [Node, Node]
  receiver: MessageReceiver
  options: ClusterOptions
}

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2), Object.keys(SCENARIOS))
  const programs = findPrograms(process.env.PATH ?? '')
  const version = execFileSync(programs.patroni, ['--version'], { encoding: 'utf8' })
  const warning = patroniWarning(version, options.etcd)
  if (warning) console.log(warning)
  await using undo = new AsyncDisposableStack()
  endOnSignal(undo)
  const begun = performance.now()
  const stack = await openStack(programs, options, undo)
  const [one = 0, two = 0] = await freePorts(2)
  const rootKey = newRootKey()
  const nodes = [
    openNode('A', one, stack.folder, rootKey),
    openNode('B', two, stack.folder, rootKey),
  ] as const
  const receiver = await openMessageReceiver()
  undo.defer(async () => receiver.close())
  console.log(`The cluster is up after ${((performance.now() - begun) / 1000).toFixed(0)} s.`)
  const results = await runAll({ stack, nodes, receiver, options })
  console.log(`\n${reportOf(results)}`)
  process.exitCode = results.every(({ faults }) => faults.length === 0) ? 0 : 1
}

/** Runs the chosen scenarios one after the other. */
async function runAll(run: Run): Promise<ScenarioResult[]> {
  const results: ScenarioResult[] = []
  const current: { way?: Way } = {}
  for (const name of run.options.scenarios) {
    const scenario = SCENARIOS[name]
    if (!scenario) continue
    console.log(`${name}: ${scenario.title} …`)
    const begun = performance.now()
    const result = await runOne(run, name, scenario, current).catch((error: Error) => {
      delete current.way
      return withoutLoad(scenario, begun, [error.message.replace(/\n.*/s, '')])
    })
    for (const fault of result.faults) console.log(`  ✗ ${fault}`)
    results.push(result)
  }
  return results
}

/** Runs one scenario. The nodes connect to the primary in the way that it defines. */
async function runOne(
  run: Run,
  name: string,
  scenario: Scenario,
  current: { way?: Way },
): Promise<ScenarioResult> {
  const begun = performance.now()
  if (scenario.refusal) {
    delete current.way
    return withoutLoad(scenario, begun, await startFaults(run, scenario))
  }
  if (scenario.way !== current.way) await restartNodes(run, scenario.way)
  current.way = scenario.way
  return runScenario(run, name, scenario, begun)
}

/** Returns the result of a scenario that wrote nothing. */
const withoutLoad = (
  { title }: Scenario,
  begun: number,
  faults: readonly string[],
): ScenarioResult => ({
  ...{ title, faults, writes: 0, pauseMs: 0, slowestMs: 0 },
  seconds: (performance.now() - begun) / 1000,
})

/** Starts a node that must refuse to start. Reports locks that the node left in the database. */
async function startFaults({ nodes, stack }: Run, { way, refusal }: Scenario): Promise<string[]> {
  await Promise.all(nodes.map((node) => node.stop()))
  const [node] = nodes
  const message = await node.start(stack.urlOf(way)).then(
    () => `node ${node.name} started`,
    (error: Error) => error.message,
  )
  await node.stop()
  const faults = refusal?.test(message) ? [] : [message]
  const [row] = await stack.query<{ count: string }>(
    await stack.leader(),
    "select count(*) from pg_locks where locktype = 'advisory'",
  )
  const left = Number(row?.count)
  return left > 0 ? [...faults, `${left} locks are left behind`] : faults
}

async function restartNodes({ nodes, stack }: Run, way: Way): Promise<void> {
  await Promise.all(nodes.map((node) => node.stop()))
  await Promise.all(nodes.map((node) => node.start(stack.urlOf(way))))
}

/** Runs one scenario under load, and collects its evidence. */
async function runScenario(
  { stack, nodes, receiver, options }: Run,
  name: string,
  scenario: Scenario,
  begun: number,
): Promise<ScenarioResult> {
  const databaseUrl = stack.urlOf(scenario.way)
  const startedAt = new Date()
  const receiverUrl = receiver.urlOf(name)
  const clinic = await openClinic(nodes[0], name, { users: USERS, receiverUrl })
  const findings = new Set(await findingsOf({ nodes, stack, databaseUrl }))
  const ledger = openLedger()
  const load = startLoad(nodes, clinic, stack.beatUrl, ledger)
  await delay(STEADY_MS)
  await scenario.run(stack, options)
  await load.untilWriting(RETURN_PATIENCE_MS)
  await delay(STEADY_MS)
  const endedAt = performance.now()
  await load.stop()
  await stack.untilWhole()
  await tryBlocked(nodes, clinic, ledger)
  const faults = await faultsOf({
    ...{ stack, nodes, receiver, ledger, startedAt, findings, databaseUrl, endedAt },
    clinicId: clinic.id,
    subdomain: name,
  })
  const written = ledger.entries.filter(isAcknowledged)
  const pauses = nodes.map((node) =>
    longestPause(
      written.filter((entry) => entry.node === node.name).map(({ answeredAt }) => answeredAt),
    ),
  )
  return {
    title: scenario.title,
    faults,
    writes: written.length,
    pauseMs: Math.max(...pauses),
    slowestMs: Math.max(...ledger.entries.map((entry) => entry.answeredAt - entry.sentAt)),
    seconds: (performance.now() - begun) / 1000,
  }
}

/** Sends one more request of every blocked user to every node. */
async function tryBlocked(nodes: Run['nodes'], clinic: Clinic, { blocks }: Ledger): Promise<void> {
  for (const { userId, probes } of blocks) {
    const token = clinic.users.find(({ id }) => id === userId)?.token ?? ''
    for (const node of nodes) {
      const sentAt = performance.now()
      probes.push({ sentAt, status: await statusOf(node, token) })
    }
  }
}

/** Ends every program when the run is interrupted. */
function endOnSignal(undo: AsyncDisposableStack): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(signal, () => void undo.disposeAsync().finally(() => process.exit(130)))
}

main().catch((error: unknown) => {
  console.error((error as Error).message)
  process.exitCode = 1
})
