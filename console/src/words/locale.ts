/** The language of dates and numbers. The texts of pages are in `*.texts.ts`. */
export const LOCALE = 'en-GB'
