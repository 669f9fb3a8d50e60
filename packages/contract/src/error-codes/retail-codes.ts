/** Error codes of the Retail API: the connector's codes over HTTP, and its own codes. */
import { permanentError, temporaryError, unknownOutcomeOnce } from './error-code-kinds.ts';

export const retailCodes = {
  device_unknown: permanentError(
    404,
    'The terminal is not found',
    'No terminal that you may see has this serial number.',
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
    'The Cloud Connector does not support this family. The operator lists the families in CONNECTOR_FAMILIES.',
  ),
  device_disabled: permanentError(
    409,
    'The terminal is not enabled',
    'Enable the terminal, its logical device, store and merchant, and link the terminal to a store.',
  ),
  not_subscribed: permanentError(
    409,
    'The organisation has not subscribed to the Cloud Connector',
    'Subscribe the organisation to the Cloud Connector first.',
  ),
  not_enabled: permanentError(
    409,
    'The Cloud Connector is not activated',
    'Activate the Cloud Connector at the level in the field "level" of this response.',
  ),
  device_offline: temporaryError(
    409,
    'The terminal is not connected',
    'The platform sent nothing. Try again when the terminal is online, or connect to it over the local network.',
  ),
  device_claimed: temporaryError(
    409,
    'Another point of sale uses the terminal',
    'The platform sent nothing. Try again after the time in Retry-After, or let the platform wait: send waitSeconds.',
  ),
  service_id_reused: unknownOutcomeOnce(
    409,
    'The ServiceID was already used',
    'A SaleID and ServiceID pair is valid once in 48 hours; get the outcome of the first message by its ServiceID.',
  ),
  nexo_invalid: permanentError(
    422,
    'The message is not a Nexo Retailer request',
    'Send one Nexo Retailer request with a valid MessageHeader. The detail and the errors name the faults.',
  ),
  message_not_found: permanentError(
    404,
    'The message is not found',
    'The platform sent no message of this ServiceID to the terminal in the last 48 hours.',
  ),
  message_rejected: unknownOutcomeOnce(
    502,
    'The terminal rejected the message',
    'The terminal sent a Reject event. Send a TransactionStatus request to check that no payment was made.',
  ),
  device_disconnected: unknownOutcomeOnce(
    502,
    'The connection to the terminal was lost',
    'The connection broke after the platform sent the message and before the response; send a TransactionStatus request.',
  ),
  session_lost: unknownOutcomeOnce(
    502,
    'The session with the terminal ended',
    'The session ended before the response; the field "reason" says why. Send a TransactionStatus request.',
  ),
  timeout: unknownOutcomeOnce(
    504,
    'The terminal did not answer in time',
    'The platform sent the message, and no response came in time; send a TransactionStatus request.',
  ),
} as const;
