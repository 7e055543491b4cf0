/**
 * Properties of whatever values, of which each run takes the same: what fails here fails for everybody. `FUZZ_SEED` has
 * others taken.
 */
import fc from 'fast-check'

fc.configureGlobal({ seed: Number(process.env.FUZZ_SEED ?? 20_261_121) })

export { fc }
