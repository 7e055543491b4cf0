/** The origin of a log, which begins with the name of the installation's key (ADR 0042). */

export interface LogOrigin {
  /** The name of the keys of the installation. */
  name: string
  /** The tenant, or 0 for entries without one. */
  tenant_id: number
  epoch: number
}

export const writeOrigin = ({ name, tenant_id, epoch }: LogOrigin): string =>
  `${name}/${tenant_id}/${epoch}`

/** Returns the parts of an origin. The tenant and the epoch are NaN if it is not an origin of this service. */
export function readOrigin(origin: string): LogOrigin {
  const [epoch, tenant, ...name] = origin.split('/').toReversed()
  return { name: name.toReversed().join('/'), tenant_id: Number(tenant), epoch: Number(epoch) }
}
