/** The examples are valid YAML, and they agree with the service and with each other. */
import { globSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { VARIABLES } from '../../src/config/config.ts'
import { ROOT, textOf } from './documents.ts'

const FILES = globSync('examples/**/*', { cwd: ROOT }).filter((file) => /\.[a-z]+$/.test(file))
const COMPOSE = 'examples/patroni/compose.yaml'
const DATABASE = 'examples/kubernetes/cloudnativepg.values.yaml'
const SERVICE = 'examples/kubernetes/existing-cluster.values.yaml'

/** A file with the anchors and merge keys that Compose supports. */
const read = (file: string) => parse(textOf(file), { merge: true })

test('the tests below cover all deployment examples', () => {
  expect(FILES.sort()).toEqual([SERVICE, DATABASE, COMPOSE].sort())
})

test.each(FILES)('%s is valid YAML', (file) => {
  const faults = parseAllDocuments(textOf(file), { merge: true }).flatMap((document) =>
    'errors' in document ? [...document.errors, ...document.warnings] : [],
  )
  expect(faults).toEqual([])
})

describe(COMPOSE, () => {
  const { services, configs, volumes } = read(COMPOSE)
  const servers = ['one', 'two', 'three']

  test('the cluster example starts three servers, each with its own name, address and volume', () => {
    expect(Object.keys(services)).toEqual([...servers, 'etcd', 'haproxy'])
    for (const name of servers)
      expect(services[name]).toMatchObject({
        hostname: name,
        build: { dockerfile_inline: expect.stringMatching(/^FROM postgres:17/) },
        environment: {
          PATRONI_NAME: name,
          PATRONI_POSTGRESQL_CONNECT_ADDRESS: `${name}:5432`,
          PATRONI_RESTAPI_CONNECT_ADDRESS: `${name}:8008`,
          PATRONI_SUPERUSER_USERNAME: 'postgres',
        },
        volumes: [`${name}:/var/lib/postgresql/data`],
      })
    expect(Object.keys(volumes)).toEqual([...servers, 'etcd'])
  })

  test('the cluster example uses only configurations that it defines', () => {
    const used = [services.one.configs, services.haproxy.configs].flat()
    expect(used.map(({ source }: { source: string }) => source)).toEqual(Object.keys(configs))
  })

  test('the cluster example configures Patroni as the documentation of clusters requires', () => {
    const patroni = parse(configs.patroni.content)
    expect(patroni.bootstrap.dcs).toMatchObject({ synchronous_mode: true, failsafe_mode: true })
    expect(patroni.etcd3).toEqual({ host: 'etcd:2379' })
    expect(patroni.bootstrap.post_bootstrap).toBe(services.one.configs[1].target)
  })

  test('the cluster example lets HAProxy check every server and close the sessions of a server that is down', () => {
    const text: string = configs.haproxy.content
    const checked = [...text.matchAll(/^ *server (\w+) (\w+):5432 check port 8008$/gm)]
    expect(checked.map(([, name]) => name)).toEqual(servers)
    expect(text).toContain('on-marked-down shutdown-sessions')
  })
})

describe(SERVICE, () => {
  const { controllers, service, persistence } = read(SERVICE)
  const { containers, replicas } = controllers.wardkeep
  const { env, probes } = containers.wardkeep

  test('the Kubernetes example sets only variables of the service', () => {
    expect(Object.keys(env).filter((name) => !(name in VARIABLES))).toEqual([])
    expect(textOf(SERVICE)).toMatch(/--from-literal=DATABASE_URL=.*--from-literal=ENCRYPTION_KEY=/s)
  })

  test('the Kubernetes example probes the port of the service', () => {
    const { port } = service.wardkeep.ports.http
    expect(probes.liveness.spec.httpGet).toEqual({ path: '/healthz', port })
    expect(probes.readiness.spec.httpGet).toEqual({ path: '/readyz', port })
  })

  test('the Kubernetes example keeps the data folder in a writable volume', () => {
    expect(env.DATA_DIR).toMatch(new RegExp(`^${persistence.data.globalMounts[0].path}/`))
  })

  test('the Kubernetes example stays within the connection limit of the database example', () => {
    const { cluster } = read(DATABASE)
    const needed = replicas * (Number(env.DATABASE_POOL_SIZE) + 28)
    expect(Number(cluster.postgresql.parameters.max_connections)).toBeGreaterThanOrEqual(needed)
  })
})

describe(DATABASE, () => {
  const { cluster } = read(DATABASE)

  test('the database example commits to a standby, and has an owner that can create roles', () => {
    expect(cluster.postgresql.synchronous).toEqual({ method: 'any', number: 1 })
    expect(cluster.initdb).toMatchObject({ database: 'wardkeep', owner: 'wardkeep' })
    expect(cluster.roles).toMatchObject([{ name: cluster.initdb.owner, createrole: true }])
  })
})
