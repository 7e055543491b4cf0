import { describe, expect, test } from 'vitest'
import {
  haproxyConfiguration,
  patroniConfiguration,
  pgbouncerConfiguration,
} from './configuration.ts'

const member = { name: 'one', folder: '/cluster/one', postgresPort: 1001, restPort: 1002 }
const topology = {
  members: [member, { ...member, name: 'two', postgresPort: 2001, restPort: 2002 }],
  etcdPort: 9001,
  etcdPeerPort: 9002,
  primaryPort: 9003,
  keepingPort: 9004,
  pgbouncerPort: 9005,
}

describe('the configuration of Patroni for the cluster test', () => {
  test.each([
    [2, 'etcd'],
    [3, 'etcd3'],
  ] as const)('uses version %i of the etcd API', (etcd, section) => {
    const text = patroniConfiguration(member, topology, { etcd, bin: '/bin' })
    expect(JSON.parse(text)).toMatchObject({
      name: 'one',
      [section]: { hosts: '127.0.0.1:9001' },
      bootstrap: { dcs: { synchronous_mode: true, failsafe_mode: true } },
      postgresql: { listen: '127.0.0.1:1001', data_dir: '/cluster/one/data' },
    })
  })

  test('gives Patroni the time limits that its lease requires', () => {
    const { dcs } = JSON.parse(
      patroniConfiguration(member, topology, { etcd: 3, bin: '/bin' }),
    ).bootstrap
    expect(dcs.loop_wait + 2 * dcs.retry_timeout).toBeLessThanOrEqual(dcs.ttl)
  })
})

describe('the configuration of HAProxy for the cluster test', () => {
  test('makes one of the two routes to the primary close its sessions on failover', () => {
    const [, primary = '', keeping = ''] = haproxyConfiguration(topology).split(/^listen /m)
    expect(primary).toMatch(/bind 127\.0\.0\.1:9003\n/)
    expect(primary).toContain('on-marked-down shutdown-sessions')
    expect(keeping).toMatch(/bind 127\.0\.0\.1:9004\n/)
    expect(keeping).not.toContain('shutdown-sessions')
    for (const section of [primary, keeping])
      expect(section).toContain('server two 127.0.0.1:2001 check port 2002')
  })
})

describe('the configuration of PgBouncer for the cluster test', () => {
  test('pools sessions in front of HAProxy', () => {
    const text = pgbouncerConfiguration(topology, '/cluster')
    expect(text).toContain('pool_mode = session')
    expect(text).toContain('wardkeep = host=127.0.0.1 port=9003\n')
    expect(text).toMatch(/^wardkeep_transaction = .* dbname=wardkeep pool_mode=transaction$/m)
  })
})
