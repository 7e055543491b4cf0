/** A syslog receiver over TLS: a separate process that reports the messages it received. */
import { execFileSync } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { openBaseline } from '../baselines/baseline.ts'
import type { Answers, Question } from '../baselines/syslog-receiver.ts'

export interface SyslogReceiver {
  /** The port of 127.0.0.1. */
  port: number
  /** The file with the certificate of `localhost`, in PEM. */
  certificateFile: string
  /** Forgets everything that has arrived. */
  reset(): Promise<unknown>
  /**
   * Waits for this many messages since the last reset. Returns how many arrived per second, from the first byte to the
   * end of the last message.
   * @throws Error if some do not arrive, or if they arrive over several connections
   */
  wait(messages: number): Promise<{ rate: number; bytes: number }>
  /** Writes all bytes since the last reset to a file. */
  save(file: string): Promise<unknown>
  stop(): Promise<void>
}

/** Longer than the time in which the service starts an export, or resumes it after a failure. */
const PATIENCE_MS = 20_000

/** @param path the beginning of the paths of its key and its certificate */
export async function openSyslogReceiver(path: string): Promise<SyslogReceiver> {
  const [keyFile, certificateFile] = [`${path}.key.pem`, `${path}.cert.pem`]
  makeCertificate(keyFile, certificateFile)
  const baseline = openBaseline(new URL('../baselines/syslog-receiver.ts', import.meta.url))
  const ask = <W extends Question['what']>(question: Extract<Question, { what: W }>) =>
    baseline.ask<Answers[W]>(question)
  const port = await ask({ what: 'open', keyFile, certificateFile })
  return {
    port,
    certificateFile,
    reset: () => ask({ what: 'reset' }),
    async wait(wanted) {
      const arrivals = await ask({ what: 'wait', messages: wanted, patienceMs: PATIENCE_MS })
      const { messages, bytes, connections, firstAt, lastAt } = arrivals
      if (messages < wanted) throw new Error(`${wanted - messages} messages have not arrived`)
      // A second connection repeats messages that the first has lost.
      if (connections !== 1) throw new Error(`${connections} connections instead of one`)
      return { rate: (messages / (lastAt - firstAt)) * 1000, bytes }
    },
    save: (file) => ask({ what: 'save', file }),
    async stop() {
      baseline.stop()
      for (const file of [keyFile, certificateFile]) await rm(file, { force: true })
    },
  }
}

/** Creates a self-signed certificate of `localhost` that expires in two days. */
function makeCertificate(keyFile: string, certificateFile: string): void {
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
  const subject = [
    '-days',
    '2',
    '-subj',
    '/CN=localhost',
    '-addext',
    'subjectAltName=DNS:localhost',
  ]
  const files = ['-keyout', keyFile, '-out', certificateFile]
  execFileSync('openssl', ['req', ...kind, ...subject, ...files], { stdio: 'pipe' })
}
