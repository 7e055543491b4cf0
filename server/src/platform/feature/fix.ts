/**
 * A fix detects and repairs one kind of fault, and belongs to the feature in which the fault occurs (decisions §10).
 */
import type { TenantTx } from '../db/index.ts'

/** The impact of the fault until it is repaired. */
export type Severity = 'low' | 'medium' | 'high' | 'critical'

/** Measured or expected values, such as names and counts. They must not contain secrets, patient data or addresses. */
export type Evidence = Readonly<Record<string, string | number | boolean | null>>

export interface Finding {
  /** The tenant in which the fault occurs. Null for the platform. */
  readonly tenant_id: number | null
  /** The faulty object, such as "department 12". Must be unique within the fix. */
  readonly subject: string
  readonly measured: Evidence
  readonly expected: Evidence
  /** When the fault began (ISO 8601), if the detector knows. The default is the time of the first detection. */
  readonly since?: string
}

export interface Detected {
  readonly findings: readonly Finding[]
  /** The number of checked objects, with or without a fault, for the share of faulty ones. */
  readonly looked_at: number
  /** Where the next scan continues, if a scan checks only a part of the objects. Undefined after the last part. */
  readonly next?: string
}

/** Runs a repair's work in one transaction, in the scope of the finding's tenant. Lock waits are limited to 2 s. */
export type Repairing = <T>(work: (tx: TenantTx) => Promise<T>) => Promise<T>

/** The result of a repair. `already gone` means that a second check, under locks, found no fault. */
export type Repaired = 'repaired' | 'already gone'

export interface Fix {
  /** The permanent key of the fix: `feature.fault`. */
  readonly key: string
  readonly title: string
  /** The fault, its causes and its consequences. */
  readonly description: string
  readonly severity: Severity
  /** Whether the repair is harmless even if the detector is wrong. Scans run such a repair automatically. */
  readonly automatic: boolean
  /** Describes the repair for operators. If there is no repair, describes what operators should do. */
  readonly plan: string
  /** The page in docs/runbooks with more details, if there is one. */
  readonly runbook?: string
  /** Returns the faults, read across tenants within 10 s. @param from the `next` of the previous scan */
  detect(tx: TenantTx, from: string | undefined): Promise<Detected>
  /** Returns the findings whose fault still exists. Required if a scan checks only a part of the objects. */
  recheck?(tx: TenantTx, findings: readonly Finding[]): Promise<readonly Finding[]>
  /**
   * Repairs one finding, fully or not at all, after checking again under locks, because minutes may have passed. Work
   * on files, memory or concurrent index builds runs outside a transaction. Undefined if a person has to decide.
   * @throws any error of the repair. Operators see its message.
   */
  repair?(finding: Finding, repairing: Repairing): Promise<Repaired>
}

/** Returns the id at the end of a finding's subject, such as `12` for "department 12". */
export const idIn = ({ subject }: Pick<Finding, 'subject'>): string =>
  subject.slice(subject.lastIndexOf(' ') + 1)
