/** Isolation as it is run: the queries and row-level security together. */
import { runTable } from './matrix.ts'

runTable(async () => undefined)
