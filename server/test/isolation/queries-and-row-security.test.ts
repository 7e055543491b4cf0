/**
 * Isolation of tenants as in production, with both protections: the conditions in the queries, and row-level security.
 */
import { runTable } from './matrix.ts'

runTable(async () => undefined)
