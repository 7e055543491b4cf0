/** The people, servers and steps of the walk through all operations. */
import type { BotServer } from '../support/bot-server.ts'
import type { Clinic, Person } from '../support/clinics.ts'
import type { Answer, CallOptions, Service } from '../support/service.ts'

export interface Step {
  /** `METHOD path`, as in the contract's rows. */
  name: string
  /** The fields of the example that the walk replaced. */
  filled: string[]
  answer: Answer
}

interface TakeOptions extends Omit<CallOptions, 'body' | 'payload'> {
  path?: Record<string, number | string>
  /** Fields of the body that replace those of the example: IDs, secrets and unique names. */
  fill?: object
  /** Returns the headers that the body needs, such as its signature. */
  sign?: (payload: string) => Record<string, string>
}

export interface Scene {
  service: Service
  bot: BotServer
  root: Person
  clinic: Clinic
  /** Sends the example of an operation, with values of the scene, and records the response. */
  take(name: string, options?: TakeOptions): Promise<Answer>
}
