/** Codes of refused WebSocket handshakes. Open connections use the codes of `connectorFaults`. */
import { permanentError, temporaryError } from './error-code-facts.ts';

export const connectorCodes = {
  upgrade_required: permanentError(
    426,
    'The address is that of a WebSocket',
    'Open a WebSocket of version 13 (RFC 6455) at this address instead of sending an HTTP request.',
  ),
  role_missing: permanentError(
    403,
    'The role "Point-of-sale Terminal" is missing',
    'The application of the token does not have the role that the Cloud Connector requires.',
  ),
  origin_not_allowed: permanentError(
    403,
    'Pages in browsers cannot use the connector',
    'A handshake with an Origin header needs a valid Authorization header, which no page can send.',
  ),
  session_gone: permanentError(
    410,
    'The address was used or has expired',
    'Addresses of sessions and of device connections are good once and for a short time: claim or register again.',
  ),
  node_unreachable: temporaryError(
    503,
    'The node of the terminal cannot be reached',
    'The terminal is connected to another node of the platform, which this one cannot reach at the moment.',
  ),
} as const;
