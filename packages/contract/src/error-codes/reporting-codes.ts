/** Error codes of exports and of reconciliations with an acquirer's file. */
import { permanentError, temporaryError } from './error-code-facts.ts';

/** The state of an export or of a reconciliation does not allow the request. */
export const reportingCodes = {
  export_not_ready: temporaryError(
    409,
    'The export has no content yet',
    'Ask for the export until its state is Completed, then fetch the content.',
  ),
  export_ended: permanentError(
    409,
    'The export has ended',
    'It is completed, failed or cancelled already; delete it, or order another one.',
  ),
  export_limit_reached: temporaryError(
    409,
    'Too many exports are under way',
    'Wait for the end of one of them, or cancel one.',
  ),
  reconciliation_state: permanentError(
    409,
    'The state of the reconciliation does not allow this',
    'The reconciliation is still running or has failed; read it again, or send the file again.',
  ),
  resolution_not_allowed: permanentError(
    409,
    'The item cannot be resolved so',
    'It agrees, or was resolved already; waysToResolve of the item names what may be decided.',
  ),
  range_not_satisfiable: permanentError(
    416,
    'The range lies outside the content',
    'Ask for one range of bytes that begins before the end; Content-Range names the length.',
  ),
} as const;
