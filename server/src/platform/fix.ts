/**
 * A fault that the service can find in itself, and how it is mended: a value of the feature that knows
 * it. Self-healing (decisions §10) knows this interface and no fault. Types only.
 */
import type { TenantTx } from './db/index.ts'

/** How much it hurts while nobody mends it. */
export type Severity = 'low' | 'medium' | 'high' | 'critical'

/** What was measured, or expected: names and counts, never a secret, a patient's datum or an address. */
export type Evidence = Readonly<Record<string, string | number | boolean | null>>

export interface Finding {
  /** Whose it is; null is the platform's. */
  readonly tenant_id: number | null
  /** What is at fault, and nothing else of the same fix: "department 12". */
  readonly subject: string
  readonly measured: Evidence
  readonly expected: Evidence
  /** ISO 8601; since when it is so, where the detector can tell. Otherwise it is when it was first seen. */
  readonly since?: string
}

export interface Detected {
  readonly findings: readonly Finding[]
  /** How many were looked at, at fault or not: says what share the findings are. */
  readonly looked_at: number
  /** Where the next scan goes on, where one look is a slice; left out when it has come to the end. */
  readonly next?: string
}

/** Runs a repair's work: one transaction, in the scope of the finding's tenant, that waits 2 s for a lock. */
export type Repairing = <T>(work: (tx: TenantTx) => Promise<T>) => Promise<T>

/** What came of a repair: mended, or found well when it was looked at again under its locks. */
export type Repaired = 'repaired' | 'already gone'

export interface Fix {
  /** `feature.fault`, and its name for ever. */
  readonly key: string
  readonly title: string
  /** What is wrong, how it comes about, and what it does while it lasts. */
  readonly description: string
  readonly severity: Severity
  /** Whether a repair does no harm even where the detector is mistaken: a scan then repairs by itself. */
  readonly automatic: boolean
  /** What a repair does, in words. Of what has no repair: what to do instead. */
  readonly plan: string
  /** Its page in docs/runbooks, where there is more to say. */
  readonly runbook?: string
  /**
   * Looks for the fault, in a read-only transaction across tenants that ends after 10 s.
   * @param from what the look before has returned as `next`
   */
  detect(tx: TenantTx, from: string | undefined): Promise<Detected>
  /** Those of the findings that are there still. Needed where `detect` looks in slices. */
  recheck?(tx: TenantTx, findings: readonly Finding[]): Promise<readonly Finding[]>
  /**
   * Mends one, all or nothing. Looks again first, under locks: between the look and this lie minutes.
   * What no transaction can do (files, memory, an index built concurrently) it does without one.
   * Left out where people have to decide: it is told of, and never proposed.
   * @throws whatever it fails with; its message is shown to operators
   */
  repair?(finding: Finding, repairing: Repairing): Promise<Repaired>
}
