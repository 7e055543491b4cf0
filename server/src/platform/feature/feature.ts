/** The types of the parts that a feature passes to the composition root. Every part except the name is optional. */
import type { Static, TSchema } from 'typebox'
import type { Conflicts, PurgeRows, TenantTx } from '../db/index.ts'
import type { AnyOperation, Outgoing, Redirects } from '../http/index.ts'
import type { Upkeep } from '../lifecycle/upkeep.ts'
import type { Fix } from './fix.ts'
import type { JobSource } from './job-source.ts'
import type { RestoreColumns, RestoreSteps } from './restore-columns.ts'
import type { RestoreRules } from './restore-rule.ts'

export type State = 'ok' | 'degraded' | 'down'

export interface ComponentHealth {
  state: State
  /** The reason why the component is not `ok`, or what `ok` does not cover, in one sentence. */
  reason?: string | undefined
  /** When the component entered the state (ISO 8601). Undefined if this is not known. */
  since?: string | null | undefined
  /** The page in `docs/runbooks` that explains what to do. */
  runbook?: string | undefined
}

export type HealthCheck = () => State | ComponentHealth

/** Background work, which runs from startup on nodes whose role is not `api`. */
export interface Background {
  /** Polls for work now. Resolves when all due work is done. */
  idle(): Promise<unknown>
  /** Starts no further work. Waits up to a few seconds for running work. */
  stop(): Promise<unknown>
}

/** Whether a capability is available. It is a function if the answer can change while the service runs. */
export type Capability = boolean | (() => boolean)

/** Returns a count of rows in the scope of the transaction. */
export type CountRows = (tx: TenantTx) => Promise<number>

export interface OverviewView {
  /** The tenant of the view: the caller's own tenant, or the tenant in the request. Null for all tenants. */
  readonly tenantId: number | null
  /** The tenant of parts about the installation. Null also for superadmins on the platform tenant, who see all. */
  readonly ofInstallation: number | null
  /** The current time, ISO 8601. */
  readonly now: string
}

/** A part of the overview: its schema in the response, and a function that reads a few rows by index. */
export interface OverviewPart {
  readonly schema: TSchema
  /** Whether superadmins also see rows without a tenant, which the part narrows with `ofInstallation`. */
  readonly isOfInstallation?: boolean
  /** Reads the part. Returns null if there is nothing to report for this view. */
  read(tx: TenantTx, view: OverviewView): Promise<unknown>
}

/** Returns the part unchanged. Checks at compile time that `read` returns data of the schema. */
export function overviewPart<S extends TSchema>(
  part: Omit<OverviewPart, 'schema' | 'read'> & {
    schema: S
    read(tx: TenantTx, view: OverviewView): Promise<Static<S> | null>
  },
): OverviewPart {
  return part
}

export type OverviewParts = Readonly<Record<string, OverviewPart>>

/**
 * An opened feature. The parameters of the function in its `index.ts` are its dependencies. It registers its own
 * metrics.
 */
export interface Feature {
  readonly name: string
  readonly tables?: RestoreRules
  /** The restore rule of each column in the feature's restored and merged tables. */
  readonly columns?: RestoreColumns
  /** The feature's steps within an in-place restore. */
  readonly restoring?: RestoreSteps
  readonly operations?: readonly AnyOperation[]
  readonly outgoing?: Outgoing
  readonly upkeep?: readonly Upkeep[]
  background?(): Background
  /** Whether the work contacts external systems. It does not start while outgoing messages are paused. */
  readonly goesOut?: boolean
  /** The health checks of the feature's components, by their names in the health report. */
  readonly checks?: Readonly<Record<string, HealthCheck>>
  /** The counts in the health report, by name. */
  readonly counts?: Readonly<Record<string, CountRows>>
  /** Parts that report items for a person's attention, by their names in the overview's `attention`. */
  readonly attention?: OverviewParts
  /** The figures of the feature, by their names in the overview's `counts`. */
  readonly figures?: OverviewParts
  /** The capabilities available with this configuration, by their names in `GET /api/auth/capabilities`. */
  readonly capabilities?: Readonly<Record<string, Capability>>
  readonly purgeRows?: PurgeRows
  /** The problem codes for violated constraints, by the name of the constraint. The caller receives the code. */
  readonly conflicts?: Conflicts
  readonly fixes?: readonly Fix[]
  /** The long jobs of the feature, which `GET /api/admin/jobs` lists. */
  readonly jobs?: readonly JobSource[]
  readonly redirects?: Redirects
  /** Ends work at once if it would delay a shutdown. Called at the beginning of a shutdown. */
  stopping?(): unknown
  /** Releases the resources that opening the feature acquired. Called after all work has ended. */
  close?(): unknown
}
