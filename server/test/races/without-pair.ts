/** Operations that the tests of concurrent deletions leave out. */

/** The writing operations that PAIRS does not contain, with the reason. */
export const LEFT_OUT: Record<string, string> = {
  createTenant: 'refers to no record',
  restoreTenant: 'undoes a deletion in one statement, or finds that the purge has started',
  cleanUpCache: 'refers to no record',
  rotateKeys: 'refers to no record',
  createBackup: 'is about files; a clinic that is gone meanwhile fails its job',
  restoreBackup: 'is about files, and brings records back',
  deleteBackup: 'is about files',
  drillBackup: 'is about files',
  createDownload: 'is about files; a ticket of a backup that is gone has no file',
  cancelJob: 'ends the job in one statement, or finds that it is gone',
  confirmFix: 'is about a finding, which is looked at again under the lock of its record',
  deleteFix: 'is about a finding, which nobody deletes but this',
  verifyAuditLogs: 'starts a job, which handles records that disappear',
  scanForFaults: 'starts a job, which handles records that disappear',
  seedFixes: 'looks for findings and repairs nothing that waits for confirmation',
  discardPaymentNotifications: 'deletes what is of no tenant',
  processPaymentNotification: 'is about a notification, which goes with its day alone',
  receiveCardnetNotification: 'keeps what came, for whomever it is',
  receivePaygateNotification: 'keeps what came, for whomever it is',
  linkMessenger: 'needs a bot: test/messenger has it beside the deletion of the account',
  receiveMessengerUpdate: 'is answered before anything is looked up',
  resetPassword: 'spends a mailed token, which is gone with its user',
  verifyEmail: 'spends a mailed token, which is gone with its user',
}
