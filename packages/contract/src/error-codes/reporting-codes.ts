/** Error codes of exports and of reconciliations with an acquirer's file. */
import { permanentError, temporaryError } from './error-code-kinds.ts';

/** The state of an export or of a reconciliation does not allow the request. */
export const reportingCodes = {
  export_not_ready: temporaryError(
    409,
    'The export has no content yet',
    'Read the export repeatedly until its state is Completed. Then download the content.',
  ),
  export_ended: permanentError(
    409,
    'The export has ended',
    'The export is already completed, failed or cancelled; delete it or create a new one.',
  ),
  export_limit_reached: temporaryError(
    409,
    'Too many exports are running',
    'Wait until an export has ended, or cancel one.',
  ),
  reconciliation_state: permanentError(
    409,
    'The state of the reconciliation does not allow this',
    'If the comparison is running, read it again later. If it has failed, upload the file again.',
  ),
  resolution_not_allowed: permanentError(
    409,
    'The item cannot be resolved in this way',
    'The item matches or is already resolved; waysToResolve lists the possible decisions.',
  ),
  range_not_satisfiable: permanentError(
    416,
    'The byte range is outside the file',
    'Request one byte range that begins before the end; Content-Range gives the length.',
  ),
} as const;
