/** Error codes of the Retail API: the connector's codes over HTTP, and its own codes. */
import { permanentError, temporaryError, unknownOutcomeOnce } from './error-code-facts.ts';

export const retailCodes = {
  device_unknown: permanentError(
    404,
    'The terminal is not found',
    'No terminal in your scope has this serial number.',
  ),
  wrong_store: permanentError(
    403,
    'The terminal belongs to another store',
    'The credentials of a point of sale are good for the terminals of its own store.',
  ),
  pos_id_required: permanentError(
    422,
    'The point of sale is missing',
    'An application of the aggregator must name its point of sale in `posId`.',
  ),
  family_not_supported: permanentError(
    422,
    'The family of the terminal is not served',
    'The connector does not serve this family of devices.',
  ),
  device_disabled: permanentError(
    409,
    'The terminal is not enabled',
    'The terminal, its place, store or merchant is disabled, or it has no place in a store.',
  ),
  not_subscribed: permanentError(
    409,
    'The Cloud Connector is not subscribed to',
    'The organisation subscribes to the Cloud Connector first.',
  ),
  not_enabled: permanentError(
    409,
    'The Cloud Connector is not enabled',
    'Activate the Cloud Connector at the level that `level` names.',
  ),
  device_offline: temporaryError(
    409,
    'The terminal is not connected',
    'Nothing was sent; try again when it is online, or use the local network.',
  ),
  device_claimed: temporaryError(
    409,
    'Another point of sale uses the terminal',
    'Nothing was sent; try again after Retry-After, or wait with `waitSeconds`.',
  ),
  service_id_reused: unknownOutcomeOnce(
    409,
    'The ServiceID was used before',
    'A pair of SaleID and ServiceID is good once in 48 hours; `message` has the outcome of the first request.',
  ),
  nexo_invalid: permanentError(
    422,
    'The message is no request of Nexo Retailer',
    'Send one request with a header that can be read; the fields say what is wrong.',
  ),
  message_not_found: permanentError(
    404,
    'The message is not found',
    'No message of this ServiceID was sent to the terminal in the last 48 hours.',
  ),
  message_rejected: unknownOutcomeOnce(
    502,
    'The terminal rejected the message',
    'The terminal rejected the message with a Reject event; send it a TransactionStatus request.',
  ),
  device_disconnected: unknownOutcomeOnce(
    502,
    'The terminal was lost',
    'The message was sent and the connection of the terminal broke before its answer; ask it by a TransactionStatus request.',
  ),
  session_lost: unknownOutcomeOnce(
    502,
    'The session with the terminal ended',
    'The message was sent and the session ended before the answer, for what `reason` says; ask by a TransactionStatus request.',
  ),
  timeout: unknownOutcomeOnce(
    504,
    'The terminal did not answer in time',
    'The message was sent and no answer came; ask the terminal by a TransactionStatus request.',
  ),
} as const;
