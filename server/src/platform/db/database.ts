/** The tables that queries can use. Features add theirs by declaration merging in `<feature>.table.ts`. */
// biome-ignore lint/suspicious/noEmptyInterface: filled by declaration merging
export interface Database {}
