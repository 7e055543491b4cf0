/** A reason for not launching, as a sentence that says what to do; printed without a stack. */
export class LaunchError extends Error {}
