/**
 * Property tests that generate the same values in each run, so that a failure is reproducible. `FUZZ_SEED` selects
 * other values.
 */
import fc from 'fast-check'

fc.configureGlobal({ seed: Number(process.env.FUZZ_SEED ?? 20_261_121) })

export { fc }
