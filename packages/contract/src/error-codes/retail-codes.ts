/** Error codes of the Retail API: the connector's codes over HTTP, and its own codes. */
import { permanentError, temporaryError, unknownOutcomeOnce } from './error-code-kinds.ts';

export const retailCodes = {
  device_unknown: permanentError(
    404,
    'The terminal is not found',
    'No terminal in your scope has this serial number.',
  ),
  wrong_store: permanentError(
    403,
    'The terminal belongs to another store',
    'The credentials of a point of sale are valid for the terminals of its own store only.',
  ),
  pos_id_required: permanentError(
    422,
    'The point of sale identifier is missing',
    'An application of an aggregator must name the point of sale in posId.',
  ),
  family_not_supported: permanentError(
    422,
    'The device family is not supported',
    'The Cloud Connector does not serve this device family.',
  ),
  device_disabled: permanentError(
    409,
    'The terminal is not enabled',
    'The terminal, its logical device, store or merchant is disabled, or the terminal has no store.',
  ),
  not_subscribed: permanentError(
    409,
    'The organisation has not subscribed to the Cloud Connector',
    'Subscribe the organisation to the Cloud Connector first.',
  ),
  not_enabled: permanentError(
    409,
    'The Cloud Connector is not activated',
    'Activate the Cloud Connector at the level in the member "level" of this response.',
  ),
  device_offline: temporaryError(
    409,
    'The terminal is not connected',
    'Nothing was sent; try again when the terminal is online, or use the local network.',
  ),
  device_claimed: temporaryError(
    409,
    'Another point of sale uses the terminal',
    'Nothing was sent; try again after Retry-After, or wait with waitSeconds.',
  ),
  service_id_reused: unknownOutcomeOnce(
    409,
    'The ServiceID was already used',
    'A SaleID and ServiceID pair is valid once in 48 hours; get the outcome of the first message by its ServiceID.',
  ),
  nexo_invalid: permanentError(
    422,
    'The message is not a Nexo Retailer request',
    'Send one request with a readable header; the fields say what is wrong.',
  ),
  message_not_found: permanentError(
    404,
    'The message is not found',
    'No message of this ServiceID was sent to the terminal in the last 48 hours.',
  ),
  message_rejected: unknownOutcomeOnce(
    502,
    'The terminal rejected the message',
    'The terminal sent a Reject event; send a TransactionStatus request to be sure that it did not pay.',
  ),
  device_disconnected: unknownOutcomeOnce(
    502,
    'The connection to the terminal was lost',
    'The connection broke after the message was sent and before the response; send a TransactionStatus request.',
  ),
  session_lost: unknownOutcomeOnce(
    502,
    'The session with the terminal ended',
    'The session ended before the response; the member "reason" says why. Send a TransactionStatus request.',
  ),
  timeout: unknownOutcomeOnce(
    504,
    'The terminal did not answer in time',
    'The message was sent, and no response came in time; send a TransactionStatus request.',
  ),
} as const;
