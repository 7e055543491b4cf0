/** The language that dates and numbers are written in. The texts of pages are in `*.texts.ts`. */
export const LOCALE = 'en-GB'
