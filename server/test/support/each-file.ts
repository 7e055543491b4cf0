/** Runs before each test file, which may share its process with others. */
import { afterAll } from 'vitest'
import { endFile } from './at-the-end.ts'
import { recordStatements } from './record-statements.ts'

recordStatements()
afterAll(endFile)
