/** What a feature hands to the composition root. All but its name may be left out; types only. */
import type { Conflicts, PurgeRows, TenantTx } from './db/index.ts'
import type { Fix } from './fix.ts'
import type { AnyOperation, Outgoing, Redirects } from './http/index.ts'
import type { RestoreColumns, RestoreSteps } from './restore-columns.ts'
import type { RestoreRules } from './restore-rule.ts'
import type { Upkeep } from './upkeep.ts'

export type State = 'ok' | 'degraded' | 'down'

/** Work of the nodes whose role is not `api`, from the start on. */
export interface Background {
  /** Looks for work now. Resolves when all work that was due is done. */
  idle(): Promise<unknown>
  /** Takes no more and finishes what runs. Returns within a few seconds of its own choice. */
  stop(): Promise<unknown>
}

/** A function where it changes while the service runs. */
export type Capability = boolean | (() => boolean)

/** Counts rows of the transaction's scope. */
export type Count = (tx: TenantTx) => Promise<number>

/**
 * A feature, opened. Its door, `index.ts`, exports the one function that opens it; what that needs
 * stands in its signature. Series of metrics it registers itself, on the registry of the core.
 */
export interface Feature {
  /** The name of its folder. */
  readonly name: string
  /** Its tables, with what a restore does with each. */
  readonly tables?: RestoreRules
  /** The restore rule of each column of its restored and merged tables. */
  readonly columns?: RestoreColumns
  /** Its steps within a restore in place. */
  readonly restoring?: RestoreSteps
  readonly operations?: readonly AnyOperation[]
  /** The messages that it sends to receivers, as the OpenAPI document describes them. */
  readonly outgoing?: Outgoing
  readonly upkeep?: readonly Upkeep[]
  background?(): Background
  /** Whether its background work tells the outside anything: it then waits while that is held. */
  readonly goesOut?: boolean
  /** The state of its components, by the name in the health report. */
  readonly checks?: Readonly<Record<string, () => State>>
  /** What it has to count for the health report, by the name there. */
  readonly counts?: Readonly<Record<string, Count>>
  /** What of it people can use as it is configured, by the name in `GET /api/auth/capabilities`. */
  readonly capabilities?: Readonly<Record<string, Capability>>
  readonly purgeRows?: PurgeRows
  /** What the breaking of a constraint of its tables means to the caller, by the constraint's name. */
  readonly conflicts?: Conflicts
  /** The faults that it can find in itself, and mends. */
  readonly fixes?: readonly Fix[]
  readonly redirects?: Redirects
  /** Ends at once what would hold up a stop; called first of all. */
  stopping?(): unknown
  /** Lets go of what the opening took; called once nothing works any more. */
  close?(): unknown
}
