/**
 * The tables that queries can use. Each feature adds its own tables by declaration merging in its `<feature>.table.ts`,
 * so that the type of a table is next to the code that owns the table.
 */
// biome-ignore lint/suspicious/noEmptyInterface: filled by declaration merging
export interface Database {}
