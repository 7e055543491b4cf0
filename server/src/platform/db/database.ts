/**
 * The tables that queries know. Each feature adds its own by declaration merging in its
 * `<feature>.table.ts`, so that a table is described beside the code that owns it.
 */
// biome-ignore lint/suspicious/noEmptyInterface: filled by declaration merging
export interface Database {}
