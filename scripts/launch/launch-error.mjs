/** A reason for not launching: an error message with the next step. Printed without a stack trace. */
export class LaunchError extends Error {}
