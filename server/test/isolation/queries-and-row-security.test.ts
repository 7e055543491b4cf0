/** Isolation of tenants as in production: by the queries and by row-level security together. */
import { runTable } from './matrix.ts'

runTable(async () => undefined)
