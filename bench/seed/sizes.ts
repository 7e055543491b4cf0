/** How much data there is. Tenants are alike in all sizes; what differs is how many there are. */

export interface Size {
  tenants: number
  usersPerTenant: number
  entriesPerTenant: number
  /** And as many notifications; none by default. */
  paymentsPerTenant?: number
}

/** 1,000,000 users and payments beside 10,000, 5,000,000 entries beside 50,000; and two clinics with a long past. */
export const FULL = {
  large: { tenants: 1000, usersPerTenant: 1000, entriesPerTenant: 5000, paymentsPerTenant: 1000 },
  small: { tenants: 10, usersPerTenant: 1000, entriesPerTenant: 5000, paymentsPerTenant: 1000 },
  crowded: { tenants: 2, usersPerTenant: 1000, entriesPerTenant: 500_000 },
}

/** For trying the bench out: the figures mean little. */
export const QUICK = {
  large: { tenants: 50, usersPerTenant: 1000, entriesPerTenant: 5000, paymentsPerTenant: 1000 },
  small: { tenants: 5, usersPerTenant: 1000, entriesPerTenant: 5000, paymentsPerTenant: 1000 },
  crowded: { tenants: 2, usersPerTenant: 1000, entriesPerTenant: 50_000 },
}

/** The password of a tenant's first 100 users; their hash is made once, at the service's cost, and shared. */
export const PASSWORD = 'bench: quiet harbour 41'
export const PASSWORD_COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }

export const subdomainOf = (tenant: number) => `clinic-${tenant}`
/** The first user of a tenant administers it, the next ones audit; these and the others sign in as `user<number>@…`. */
export const emailOf = (tenant: number, user: number) =>
  `${user === 0 ? 'admin' : `user${user}`}@${subdomainOf(tenant)}.example`
