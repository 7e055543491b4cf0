/**
 * The tables known to queries. Each feature adds its own by declaration merging in its `<feature>.table.ts`, which
 * keeps a table's type next to the code that owns it.
 */
// biome-ignore lint/suspicious/noEmptyInterface: filled by declaration merging
export interface Database {}
