/** Dockerfile and compose.yaml give the service only the rights that it needs. */
import { describe, expect, test } from 'vitest'
import { textOf } from '../docs/documents.ts'

/** Returns a file's lines without comments, joining the lines of one instruction. */
const linesOf = (file: string) =>
  textOf(file)
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .filter((line) => !/^\s*(#|$)/.test(line))

describe('the Dockerfile', () => {
  const lines = linesOf('Dockerfile')

  test('runs the service as a user other than root', () => {
    const stage = lines.slice(lines.findLastIndex((line) => line.startsWith('FROM ')))
    const users = stage.flatMap((line) => /^USER (\S+)/.exec(line)?.[1] ?? [])
    expect(users.at(-1)).toMatch(/^(?!root\b|0\b)\w/)
  })

  test('copies only the build from the console stage', () => {
    const taken = lines.filter((line) => line.includes('--from=console'))
    expect(taken).toEqual(['COPY --from=console /app/console/dist console/dist'])
    const stage = lines.slice(lines.findLastIndex((line) => line.startsWith('FROM ')))
    expect(stage).toContain(taken[0])
  })

  test('copies no file that .dockerignore excludes', () => {
    const included = linesOf('.dockerignore').flatMap((line) => /^!(.+)/.exec(line)?.[1] ?? [])
    const copied = lines
      .filter((line) => line.startsWith('COPY ') && !line.includes('--from='))
      .flatMap((line) => line.split(' ').slice(1, -1))
    expect(copied.length).toBeGreaterThan(8)
    const isIncluded = (path: string) =>
      included.some(
        (one) => one === path || path.startsWith(`${one}/`) || one.startsWith(`${path}/`),
      )
    expect(copied.filter((path) => !isIncluded(path))).toEqual([])
  })

  test('keeps a locally built console out of the image', () => {
    expect(linesOf('.dockerignore')).toContain('console/dist')
  })

  test('runs no install scripts of npm packages', () => {
    const installs = lines.filter((line) => /\bnpm (ci|install|i)\b/.test(line))
    expect(installs).not.toEqual([])
    for (const line of installs) expect(line).toMatch(/ --ignore-scripts\b(?!=)/)
  })
})

describe('compose.yaml', () => {
  const lines = linesOf('compose.yaml')

  /** Returns the lines of a service, without their indentation. */
  function linesOfService(name: string): string[] {
    const rest = lines.slice(lines.indexOf(`  ${name}:`) + 1)
    const end = rest.findIndex((line) => !line.startsWith('    '))
    return rest.slice(0, end).map((line) => line.slice(4))
  }

  test.each([
    ['can write only to its volumes', 'read_only: true'],
    ['has no Linux capabilities', 'cap_drop: [ALL]'],
    ['cannot gain privileges', "security_opt: ['no-new-privileges:true']"],
  ])('the service container %s', (_what, line) => {
    expect(linesOfService('wardkeep')).toContain(line)
    expect(linesOfService('wardkeep').join('\n')).not.toMatch(/^(privileged|cap_add|user):/m)
  })

  test('the PostgreSQL container cannot gain privileges', () => {
    expect(linesOfService('postgres')).toContain("security_opt: ['no-new-privileges:true']")
  })
})
